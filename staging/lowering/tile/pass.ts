import { isLoss } from '../../graph/graph'
import { isLiveAfter } from '../../graph/boundary-tensors'
import { memoizeByNumber, memoizePerObject } from '../../memoize'
import type { Span } from '../../graph/span'
import type { Segment } from '../../plans/plan'
import { getNodeLowering, joinsChannels } from '../../ops'
import { channelsLieTogether, joinedTensors } from '../../ops/joins'
import type { ModelScope } from '../scope/scope'
import { accumulates } from './accumulate'
import type { ForwardMode, Pass } from './bound-segment'
import { normalisedOnLoad, onLoadNormalisations } from './normalise-on-load'

/**
 * Tells whether an op's backward reads an input: for the gradient of its input, of a weight that
 * learns, or of the inputs beside it.
 */
const backwardReadsInput = ({ graph, parameters, requiresGrad }: ModelScope, position: number, tensor: number): boolean => {
  const node = graph.nodes[position]!
  const { input } = getNodeLowering(node).saves
  const both = parameters[position]
  if (input === 'for-weights-alone') return both?.weight?.learning !== undefined
  if (input === 'for-weights') return both?.weight?.learning !== undefined || both?.bias?.learning !== undefined
  // Of two that are the same each is beside the other.
  if (input === 'for-others') return node.inputs.some((other, operand) => requiresGrad[other]! && operand !== node.inputs.indexOf(tensor))
  return input === 'always' && (isLoss(node.op) || requiresGrad[position + 1] === true)
}

/**
 * Tells whether backward of a span's last op can run on whole tensors, before the tiles: it reads
 * nothing but its output, which is still there, since backward of the op behind the span has just
 * read that. Nothing then makes that output again. What a normalisation before it differentiates
 * too, slope and all, is not differentiated twice.
 */
export const mayEndWhole = (scope: ModelScope, span: Span): boolean => {
  const { from, to } = span
  const { graph, parameters, requiresGrad } = scope
  const end = graph.nodes[to - 1]!
  const { saves, inPlace } = getNodeLowering(end)
  return (
    graph.shard === undefined &&
    inPlace &&
    saves.output === true &&
    saves.input === undefined &&
    end.inputs.every((tensor) => tensor > from && requiresGrad[tensor]!) &&
    parameters[to - 1] === undefined &&
    !isDifferentiatedBefore(scope, span, to - 1) &&
    graph.readers[to]![0] === to &&
    backwardReadsInput(scope, to, to)
  )
}

/**
 * A pass that is being described: over a segment, in a mode, for outputs that are `wanted` where it
 * rematerializes.
 */
interface Described {
  readonly scope: ModelScope
  readonly span: Span
  readonly mode: ForwardMode
  readonly isEndWhole: boolean
  readonly wanted: ReadonlySet<number>
  /** The convolutions that normalise what they read, with the positions of the normalisations. */
  readonly onLoad: ReadonlyMap<number, number>
}

const readersInside = ({ scope, span: { from, to } }: Described, tensor: number): readonly number[] =>
  scope.graph.readers[tensor]!.filter((reader) => from <= reader && reader < to)

const leaves = ({ scope, span: { from, to } }: Described, tensor: number): boolean => tensor > from && isLiveAfter(scope.graph, tensor, to)

/**
 * Tells whether the op is a rectifier whose input nothing else reads, and that the op before can
 * apply.
 */
const rectifies = ({ graph }: ModelScope, span: Span, position: number): boolean => {
  const [tensor] = graph.nodes[position]!.inputs
  const producer = tensor! - 1
  return (
    getNodeLowering(graph.nodes[position]!).slope !== undefined &&
    producer >= span.from &&
    getNodeLowering(graph.nodes[producer]!).fusesRectifier !== undefined &&
    graph.readers[tensor!]!.length === 1
  )
}

/** Tells whether the op before a rectifier does all of its work, forward and backward. */
const isDifferentiatedBefore = (scope: ModelScope, span: Span, position: number): boolean => {
  const { nodes } = scope.graph
  return rectifies(scope, span, position) && getNodeLowering(nodes[nodes[position]!.inputs[0]! - 1]!).fusesRectifier === 'both'
}

const isEndWhole = ({ isEndWhole, mode, span }: Described, position: number): boolean =>
  isEndWhole && mode === 'recompute' && position === span.to - 1

const savesOutput = (described: Described, position: number): boolean =>
  getNodeLowering(described.scope.graph.nodes[position]!).saves.output === true &&
  !isDifferentiatedBefore(described.scope, described.span, position)

const writes = (described: Described, tensor: number): boolean =>
  described.mode !== 'recompute' && leaves(described, tensor) && (described.mode !== 'rematerialize' || described.wanted.has(tensor))

const isReadBackward = ({ scope, mode }: Described, position: number, tensor: number): boolean =>
  mode !== 'rematerialize' && backwardReadsInput(scope, position, tensor)

/** Positions of the ops that run: all whose outputs this pass, or backward after it, reads. */
const runningPositions = (described: Described): ReadonlySet<number> => {
  const { scope, span, mode } = described
  const { nodes } = scope.graph
  const running = new Set<number>()
  for (let position = span.to - 1; position >= span.from; position--) {
    const { saves } = getNodeLowering(nodes[position]!)
    const isSaved = (savesOutput(described, position) && !isEndWhole(described, position)) || saves.indices === true
    const saved = scope.requiresGrad[position + 1]! && isSaved
    const isWanted =
      mode === 'rematerialize' ? writes(described, position + 1) : mode !== 'recompute' || saved || isLoss(nodes[position]!.op)
    const isRead = (reader: number): boolean => running.has(reader) || isReadBackward(described, reader, position + 1)
    if (isWanted || readersInside(described, position + 1).some(isRead)) running.add(position)
  }
  return running
}

const findInPlaceConsumer = (described: Described, tensor: number): number | undefined => {
  const { scope, span, mode } = described
  const consumers = readersInside(described, tensor)
  const consumer = consumers[0]
  if (consumers.length !== 1 || consumer === undefined || leaves(described, tensor)) return undefined
  const node = scope.graph.nodes[consumer]!
  const keeps = mode === 'keep' || mode === 'recompute'
  const isKept = keeps && tensor > span.from && scope.requiresGrad[tensor]! && savesOutput(described, tensor - 1)
  return getNodeLowering(node).inPlace &&
    node.inputs[0] === tensor &&
    !node.inputs.slice(1).includes(tensor) &&
    scope.layouts[tensor] === scope.layouts[consumer + 1] &&
    !isKept &&
    !(keeps && backwardReadsInput(scope, consumer, tensor))
    ? consumer
    : undefined
}

/**
 * The op that joins a tensor to others and in whose output it lies from the start, one image's
 * channels after the other's, so that nothing is copied, nor kept twice until backward. What others
 * read too may have to leave before that output is made, but for an output that is joined again:
 * a dense block (Huang 2017) then grows in one place (Pleiss 2017, section 3).
 */
const findJoin = (described: Described, running: ReadonlySet<number>, tensor: number): number | undefined => {
  const { scope, span, mode } = described
  const { graph, layouts } = scope
  if ((mode !== 'keep' && mode !== 'recompute') || tensor <= span.from || leaves(described, tensor)) return undefined
  const isJoin = (position: number): boolean => joinsChannels(graph.nodes[position]!)
  const readers = readersInside(described, tensor)
  const [join, another] = readers.filter(isJoin)
  if (join === undefined || another !== undefined || !running.has(join)) return undefined
  if (readers.length > 1 && !isJoin(tensor - 1)) return undefined
  const { inputs } = graph.nodes[join]!
  const { operands, whole } = joinedTensors(scope, join)
  const isKept =
    leaves(described, join + 1) || readersInside(described, join + 1).some((reader) => isReadBackward(described, reader, join + 1))
  return isKept &&
    channelsLieTogether(operands, whole) &&
    layouts[tensor] === whole.layout &&
    inputs.indexOf(tensor) === inputs.lastIndexOf(tensor) &&
    !accumulates(graph.nodes[tensor - 1]!)
    ? join
    : undefined
}

const createPass = (described: Described): Pass => {
  const { scope, span, onLoad } = described
  const { nodes } = scope.graph
  const running = runningPositions(described)
  const appliedOnLoad = new Set(onLoad.values())
  const runs = (position: number): boolean => running.has(position)
  const fuses = memoizeByNumber(
    (position: number): boolean => rectifies(scope, span, position) && (runs(position) || isDifferentiatedBefore(scope, span, position))
  )
  return {
    mode: described.mode,
    runs,
    readsInput: (position, tensor) => !onLoad.has(position) && isReadBackward(described, position, tensor),
    endsWhole: (position) => isEndWhole(described, position),
    isRead: (tensor) => readersInside(described, tensor).some((reader) => runs(reader) || isReadBackward(described, reader, tensor)),
    writes: memoizeByNumber((tensor) => writes(described, tensor)),
    inPlaceConsumerOf: memoizeByNumber((tensor) => findInPlaceConsumer(described, tensor)),
    joinOf: memoizeByNumber((tensor) => findJoin(described, running, tensor)),
    fuses,
    isFusedIntoPrevious: memoizeByNumber((position) => fuses(position) && isDifferentiatedBefore(scope, span, position)),
    normaliserOf: (position) => onLoad.get(position),
    isAppliedOnLoad: (position) => appliedOnLoad.has(position),
    negativeSlopeOf: memoizeByNumber((position) => {
      const rectifier = readersInside(described, position + 1).find(fuses)
      return rectifier === undefined ? 1 : getNodeLowering(nodes[rectifier]!).slope!(nodes[rectifier]!.args)
    })
  }
}

/** A scope's pass in a mode: scopes that differ in what is emitted alone have it in common. */
const describePass = memoizePerObject(
  (_: ModelScope['parameters'], { mode, span, isEndWhole, onLoad }: Described) =>
    [mode, span.from, span.to, isEndWhole, ...onLoad.keys()].join(),
  (_, described) => createPass(described)
)

/** A span, and its convolutions that normalise what they read. */
export type OnLoadSpan = Span & Pick<Segment, 'normaliseOnLoad'>

/** A span of which backward reads as little as it can: all that may do so normalises on load. */
export const withAllOnLoad = (scope: ModelScope, { from, to }: Span): OnLoadSpan => ({
  from,
  to,
  normaliseOnLoad: [...onLoadNormalisations(scope.parameters, scope).keys()]
})

/**
 * The passes over a span by their modes, each described once. `isEndWhole`: where it is computed
 * again, backward of its last op runs on whole tensors, as `mayEndWhole` allows.
 */
export const createPasses =
  (scope: ModelScope, span: OnLoadSpan, isEndWhole = false): ((mode: Exclude<ForwardMode, 'rematerialize'>) => Pass) =>
  (mode) => {
    const onLoad = normalisedOnLoad(scope, span, span.normaliseOnLoad ?? [])
    return describePass(scope.parameters, { scope, span, mode, isEndWhole, wanted: new Set(), onLoad })
  }

/** The passes over a segment, whose last output may be `onHost`. */
export const segmentPasses = (
  scope: ModelScope,
  segment: OnLoadSpan & Pick<Segment, 'recompute'>,
  onHost: Pick<ReadonlySet<number>, 'has'>
): ReturnType<typeof createPasses> =>
  createPasses(scope, segment, segment.recompute && !onHost.has(segment.to) && mayEndWhole(scope, segment))

/** The pass that makes `wanted` outputs of a segment once more. */
export const rematerializingPass = (scope: ModelScope, span: OnLoadSpan, wanted: ReadonlySet<number>): Pass => {
  const onLoad = normalisedOnLoad(scope, span, span.normaliseOnLoad ?? [])
  return createPass({ scope, span, mode: 'rematerialize', isEndWhole: false, wanted, onLoad })
}
