import * as E from 'fp-ts/Either'
import { layerText, validateOrder, validateSegments, type UnnamedSegment } from '../dsl/internal'
import { inputError, type StagingError } from './error'
import type { DeviceModel } from './devices/device-model'
import type { Graph } from './graph/graph'
import type { StepGraph } from './graph/step-graph'
import { createPool } from './lowering/ir/builder'
import { createModelScope } from './lowering/segment/create-scope'
import { lowerSteps } from './lowering/step/step'
import { validateSwapIntervals } from './lowering/step/swap'
import { transformablePositions } from './lowering/segment/winograd'
import { normalisedOnLoad } from './lowering/tile/normalise-on-load'
import { requestedTiles } from './graph/directives'
import { timepointText } from './plans/timepoints'
import { reducingRanks, type Objective } from './graph/objective'
import { inOrder } from './graph/order'
import type { Plan, Segment } from './plans/plan'
import { mapLayers } from './plans/segment-layers'
import { validatePrefetch, validateRematerialize, validateHostTensor } from './plans/host-tensors'
import { validateGrid } from './graph/grid'
import { findShard } from './graph/shard'
import { nodeWithoutInput, segmentTiling } from './graph/tiling'

/**
 * A graph that can run, whole and with the tiles that its model asks for: every layer of every tile
 * must see some of its input.
 */
export const checkInputs = (graph: Graph): E.Either<StagingError, Graph> => {
  const where = `${graph.model} on ${graph.input.join('x')}`
  const node = nodeWithoutInput(graph, { from: 0, to: graph.nodes.length })
  if (node !== undefined)
    return E.left(
      inputError(`${where}: ${node.name}: ${node.op}: sees nothing but padding; give it less padding or a larger input.`, node.name)
    )
  const asked = requestedTiles(graph).find((span) => segmentTiling(graph, span, span.grid) === undefined)
  if (asked === undefined) return E.right(graph)
  const [first, last] = [graph.nodes[asked.from]!.name, graph.nodes[asked.to - 1]!.name]
  const { B, H, W } = asked.grid
  return E.left(
    inputError(`${where}: tile: of ${B}x${H}x${W} tiles from ${first} to ${last} some see nothing but padding; take fewer tiles.`, first)
  )
}

/**
 * A graph whose `tile` directives have not more tiles than there are rows. What is evaluated has
 * the size of the image that comes: there, as many as there can be are made.
 */
export const checkTiles = (graph: Graph, { kind }: Objective): E.Either<StagingError, Graph> => {
  const [mistake] = kind === 'evaluate' ? [] : requestedTiles(graph).flatMap((asked) => validateGrid(graph, asked, asked.wanted) ?? [])
  return mistake === undefined
    ? E.right(graph)
    : E.left(inputError(`${graph.model} on ${graph.input.join('x')}: tile: ${mistake}, or a larger input.`))
}

/** A segment as plan files write it: layers by their names. */
const makeNamer = ({ nodes }: Graph): ((segment: Segment) => UnnamedSegment) => {
  const nameAt = (position: number): string => nodes[position]?.name ?? `at position ${position}`
  return ({ winograd, slicedWinograd, normaliseOnLoad, hostTensors, ...segment }) => ({
    ...segment,
    ...mapLayers({ winograd, slicedWinograd, normaliseOnLoad, hostTensors }, (positions) => positions.map(nameAt))
  })
}

/**
 * Returns one sentence on why ranks cannot share a segment as a plan says, or undefined where all
 * is right.
 */
const validateShards = (graph: Graph, { from, to, shards }: Segment): string | undefined => {
  const { B, H } = shards ?? { B: 1, H: 1 }
  const count = graph.shard?.count
  if (B * H === 1) return undefined
  if (count === undefined) return `shards: no ranks share images or rows here; B and H must be 1, not ${B} and ${H}`
  if (B * H !== count) return `shards: ${count} ranks share each segment, so B times H must be ${count}, or both 1; they are ${B} and ${H}`
  if (findShard(graph, { from, to, shards: { B, H } }) !== undefined) return undefined
  return `shards: it has too few images or rows for B ${B} and H ${H}, or some that see nothing but padding; take others, or 1 for both`
}

/**
 * Decisions that a person wrote: an order that at most commutes a max pool with the rectifier
 * before it, and segments that follow each other from the first op to the last and are tiled only
 * where that is exact. The sentences are those of the plan's types.
 */
export const checkGraphPlan = (graph: Graph, plan: Plan): E.Either<StagingError, Plan> => {
  const { order, segments } = plan
  if (graph.shard !== undefined && segments.some(({ hostTensors }) => hostTensors?.length))
    return E.left(inputError('what passes by the host in bands of rows is not shared among ranks; leave out hostTensors.'))
  const misplaced = validateOrder(graph.nodes, order)
  if (misplaced !== undefined) return E.left(inputError(`${misplaced}.`))
  const running = inOrder(graph, order)
  const mistake = validateSegments(running.nodes, segments.map(makeNamer(running)))
  if (mistake !== undefined) return E.left(inputError(`${mistake}.`))
  const fine = segments.flatMap((segment) => {
    const tooFine = validateGrid(running, segment, segment.grid)
    return tooFine === undefined ? [] : [`segment ${segment.from}..${segment.to}: ${tooFine}.`]
  })[0]
  if (fine !== undefined) return E.left(inputError(fine))
  const unshared = segments.flatMap((segment) => {
    const reason = validateShards(running, segment)
    return reason === undefined ? [] : [`segment ${segment.from}..${segment.to}: ${reason}.`]
  })[0]
  if (unshared !== undefined) return E.left(inputError(unshared))
  const moved = segments.flatMap((segment, place) => {
    const reasons = [
      validateRematerialize(running, segments, place),
      validatePrefetch(running, segments, segment),
      ...(segment.hostTensors ?? []).map((position) => validateHostTensor(running, segments, segment, position))
    ]
    return reasons.flatMap((reason) => (reason === undefined ? [] : [`segment ${segment.from}..${segment.to}: ${reason}`]))
  })[0]
  if (moved !== undefined) return E.left(inputError(`${moved}.`))
  const blind = segments.find((segment) => segmentTiling(running, segment, segment.grid) === undefined)
  return blind === undefined
    ? E.right(plan)
    : E.left(
        inputError(
          `segment ${blind.from}..${blind.to}: ${
            graph.shard === undefined
              ? 'some of its tiles see nothing but padding; take fewer tiles'
              : 'some tiles would have no row, or see nothing but padding; take fewer tiles, or fewer ranks'
          }.`,
          graph.nodes[order[blind.from]!]!.name
        )
      )
}

/**
 * Convolutions that were given to Winograd, or that are to normalise what they read, though that is
 * refused, though the device does not have them, or though nothing normalises right before them in
 * the segment; the graph is in the given order.
 */
export const validateConvolutions = (
  graph: StepGraph,
  { segments }: Plan,
  device: DeviceModel,
  exactKernels: true | undefined
): StagingError | undefined => {
  const scope = createModelScope(graph, device, createPool())
  const transformable = new Set(transformablePositions(scope))
  const firstWrong = (field: 'winograd' | 'normaliseOnLoad', isPossible: (segment: Segment, position: number) => boolean) =>
    segments.flatMap((segment) =>
      (segment[field] ?? []).flatMap((position) => (isPossible(segment, position) ? [] : [{ field, segment, position }]))
    )[0]
  const wrong =
    firstWrong('winograd', (_, position) => transformable.has(position)) ??
    firstWrong('normaliseOnLoad', (segment, position) => normalisedOnLoad(scope, segment, [position]).has(position))
  if (wrong === undefined) return undefined
  const { field, segment, position } = wrong
  const { name, op, args } = graph.nodes[position]!
  const does = field === 'winograd' ? 'runs by Winograd' : 'normalises on load'
  const layer = layerText(op, args)
  const lacking =
    field === 'winograd'
      ? `the ${device.name} device has no Winograd for ${name} (${layer}); take it out of the segment's winograd`
      : `${name} (${layer}) cannot normalise on load on the ${device.name} device; it takes 1x1 kernels with strides of 1 and one group, right after a normalisation in the segment, and perhaps its rectifier, that nothing else reads`
  const reason = exactKernels
    ? `${name} ${does}, which rounds differently; take it out of the segment's ${field}, or leave out --exact-kernels`
    : lacking
  return inputError(`segment ${segment.from}..${segment.to}: ${reason}.`, name)
}

/**
 * Tensors that cannot wait on the host as given: when they are made and read, lowering says. The
 * graph is in the given order.
 */
export const validateSwapSchedule = (
  graph: StepGraph,
  { segments, swapSchedule = [] }: Plan,
  device: DeviceModel
): StagingError | undefined => {
  // Of ranks that share rows each swaps what it can.
  if (swapSchedule.length === 0 || graph.shard !== undefined) return undefined
  const { pool, lowerOne } = lowerSteps(graph, device)
  const step = lowerOne(segments)
  const mistake = validateSwapIntervals(step, pool, swapSchedule, (timepoint) => timepointText(graph, timepoint))
  return mistake === undefined ? undefined : inputError(`${mistake}.`)
}

/** Optimizer state or weights that cannot wait on the host, since ranks have slices of them. */
export const validateOffloading = ({ objective }: StepGraph, { offloadOptimizer, offloadWeights }: Plan): StagingError | undefined => {
  if (reducingRanks(objective) === undefined) return undefined
  if (offloadOptimizer) return inputError('optimizer state does not wait on the host of ranks yet; leave out offloadOptimizer.')
  return offloadWeights === undefined ? undefined : inputError('weights do not wait on the host of ranks yet; leave out offloadWeights.')
}
