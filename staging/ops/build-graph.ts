import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { pixelCrossEntropy, softmaxCrossEntropy, type Layers, type Model } from '../../dsl'
import { appendLoss, flatLayers, isBroadcast, isDirective, isLoss, trace, type Op, type TracedLayer } from '../../dsl/internal'
import { inputError, type StagingError } from '../error'
import { elementCount, type Extents } from '../graph/extents'
import { findReaders, hasTarget, isNormalised, type Graph, type PlacedDirective, type Node } from '../graph/graph'
import { shardIn, type Objective } from '../graph/objective'
import type { Source, StepGraph } from '../graph/step-graph'
import { getOpLowering } from '.'

const toExtents = (shape: readonly number[]): Extents => [shape[0] ?? 1, shape[1] ?? 1, shape[2] ?? 1, shape[3] ?? 1]

/** As in PyTorch's state dictionaries. */
const parameterNames = { weight: 'weight', bias: 'bias', runningMean: 'running_mean', runningVariance: 'running_var' } as const

/** Of more elements in an output, sums of bytes over layers are no exact numbers any more. */
const mostElements = 2 ** 46

const sizeFault = (output: readonly number[]): string | undefined =>
  elementCount(output) > mostElements ? `its output ${output.join('x')} is larger than anything that can be planned` : undefined

/** Refuses an op that no device could run. */
const withRunnableOps = (layers: readonly TracedLayer[]): E.Either<string, readonly TracedLayer[]> => {
  for (const { name, op, args, output } of layers) {
    const sentence = isDirective(op) ? undefined : (getOpLowering(op).validate?.(args) ?? sizeFault(output))
    if (sentence !== undefined) return E.left(`${name}: ${sentence}`)
  }
  return E.right(layers)
}

type NodeInShape = Omit<Node, 'access' | 'parameters' | 'multiplyAdds' | 'statistics' | 'overlaps' | 'accumulatesMaxima'>

const makeNode = (node: NodeInShape): Node => {
  const { access, parameters, multiplyAdds, statistics, overlaps, accumulatesMaxima = false } = getOpLowering(node.op)
  const made = {
    ...node,
    multiplyAdds: 0,
    access: access(node.args, node.input, node.output),
    statistics: statistics?.(node.args, node.input[1]),
    overlaps: overlaps !== undefined,
    accumulatesMaxima,
    parameters: (parameters?.(node.args, node.input[1]) ?? []).map((one) => ({ ...one, name: `${node.name}.${parameterNames[one.role]}` }))
  } as Node
  return { ...made, multiplyAdds: multiplyAdds?.(made) ?? 0 }
}

/**
 * What is evaluated: without dropout, normalised by running statistics, and where there is a loss,
 * each pixel counts alike.
 */
export const forEvaluation = <G extends Graph>(graph: G): G => ({
  ...graph,
  nodes: graph.nodes.map((node) => {
    const { inEvaluation } = getOpLowering(node.op)
    return inEvaluation === undefined ? node : makeNode({ ...node, args: inEvaluation(node.args) } as Node)
  })
})

/** A graph of which no loss is wanted, so that nothing is summed for it. */
export const withoutTarget = <G extends Graph>(graph: G): G => ({
  ...graph,
  nodes: graph.nodes.map((node) => (node.overlaps ? { ...node, overlaps: false } : node))
})

/** A graph that computes the same function every time; nodes stay where they are. */
const withoutRandomness = (graph: Graph): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) => {
    const { withoutRandomness } = getOpLowering(node.op)
    return withoutRandomness === undefined ? node : ({ ...node, args: withoutRandomness(node.args) } as Node)
  })
})

/** The graph as the rank of an objective has it. */
export const withShard = <G extends Graph>(graph: G, objective: Objective): G => ({
  ...graph,
  ...(shardIn(objective) && { shard: shardIn(objective)! })
})

/**
 * The graph of a step from the graph as the model has it: an evaluation changes what its ops are
 * told, and gradients are of one function, so they go without randomness.
 */
export const createStepGraph = (graph: Graph, objective: Objective, source: Source): StepGraph => ({
  ...graphFor(graph, objective),
  objective,
  source
})

const graphFor = (graph: Graph, objective: Objective): Graph => {
  if (objective.kind === 'gradients') return withoutRandomness(graph)
  if (objective.kind === 'train') return withShard(graph, objective)
  return objective.compares === true ? forEvaluation(graph) : withoutTarget(forEvaluation(graph))
}

/**
 * The graph with a factor for each class in its loss, where that is divided by what they add up to.
 */
export const withClassWeights = (graph: Graph, classWeights: readonly number[]): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) =>
    isNormalised(node) && !hasTarget(node, 'values') ? makeNode({ ...node, args: { ...node.args, classWeights } } as Node) : node
  )
})

const startsSegment = (directives: readonly PlacedDirective[], position: number): boolean =>
  position === 0 || directives.some(({ kind, at }) => kind === 'checkpoint' && at === position)

/**
 * The model's flattened layers with shapes, for an input of [B, C, H, W]. A model that does not end
 * in a loss gets softmaxCrossEntropy, or pixelCrossEntropy. Fails with the sentence of the first
 * layer that does not fit, the same that the types give.
 */
export const buildGraph = (model: Model, input: readonly number[]): E.Either<StagingError, Graph> =>
  pipe(
    trace(withLoss(model, input), input),
    E.chain(withRunnableOps),
    E.mapLeft((sentence) => inputError(`${model.name} on ${input.join('x')}: ${sentence}.`)),
    E.map((layers) => {
      const nodes: Node[] = []
      const directives: PlacedDirective[] = []
      const shapes: (readonly number[])[] = [input]
      for (const { name, op, args, output, ...layer } of layers) {
        if (op === 'checkpoint') directives.push({ kind: 'checkpoint', at: nodes.length })
        else if (op === 'tile')
          directives.push({ kind: 'tile', at: nodes.length - (startsSegment(directives, nodes.length) ? 0 : 1), grid: args })
        else {
          const inputs = (layer as { readonly inputs?: readonly number[] }).inputs ?? [nodes.length]
          const [from, to] = [toExtents(shapes[inputs[0]!]!), toExtents(output)]
          nodes.push(
            makeNode({
              name,
              op,
              args,
              inputs,
              input: from,
              broadcast:
                inputs[1] !== undefined &&
                shapes[inputs[1]]!.join() !== shapes[inputs[0]!]!.join() &&
                isBroadcast(shapes[inputs[0]!]!, shapes[inputs[1]]!),
              output: to
            } as NodeInShape)
          )
          shapes.push(output)
        }
      }
      const parameters = nodes.flatMap((node) => node.parameters)
      return { model: model.name, input: toExtents(input), nodes, readers: findReaders(nodes), directives, parameters }
    })
  )

/**
 * A loss is appended where there is none, per pixel where the model makes images; but not to layers
 * that do not fit, of which a trace then says why.
 */
const withLoss = ({ layers }: Model, input: readonly number[]): Layers => {
  const last = flatLayers(layers).findLast(({ op }) => !isDirective(op))
  if (last !== undefined && isLoss(last.op as Op)) return layers
  const traced = trace(layers, input)
  if (E.isLeft(traced)) return layers
  const made = traced.right.at(-1)?.output ?? input
  return appendLoss(layers, made.length === 4 ? pixelCrossEntropy() : softmaxCrossEntropy)
}
