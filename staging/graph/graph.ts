import type { Extents } from './extents'
import { createHash } from 'node:crypto'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import {
  checkpoint,
  flatLayers,
  named,
  pixelCrossEntropy,
  softmaxCrossEntropy,
  trace,
  transposedWindowOf,
  windowOf,
  type ArgsOf,
  type Layers,
  type Model,
  type Op
} from '../../dsl'
import { accessMaps, type AccessMap, type AccessRule } from './access'
import type { TileAxis } from '../program/program'
import { inputError, type StagingError } from '../error'

/** What a layer has beside its arguments: what learns, and batchNorm's running statistics, which training updates by itself. */
export interface Parameter {
  readonly name: string
  readonly role: 'weight' | 'bias' | 'runningMean' | 'runningVariance'
  readonly shape: readonly number[]
}

export const isLearnable = ({ role }: Parameter): boolean => role === 'weight' || role === 'bias'

/** One op of the network with its tensors known. Tensor 0 is the network's input, tensor k the output of node k - 1. */
interface NodeOf<P extends Op> {
  readonly name: string
  readonly op: P
  readonly args: ArgsOf<P>
  /** The tensors that it reads, in the order of its operands. */
  readonly inputs: readonly number[]
  /** Of the first of them. All have the same height and width. */
  readonly input: Extents
  readonly output: Extents
  readonly access: AccessMap
  readonly parameters: readonly Parameter[]
}
export type Node = { [P in Op]: NodeOf<P> }[Op]

/** What a person wrote between layers: a segment must end before node `at`, or the segment that holds node `at` has this grid. */
export type Mark =
  | { readonly kind: 'checkpoint'; readonly at: number }
  | { readonly kind: 'tile'; readonly at: number; readonly grid: { readonly [A in TileAxis]?: number } }

export interface Graph {
  readonly model: string
  readonly input: Extents
  /** In execution order; the last one is the loss. */
  readonly nodes: readonly Node[]
  /** Of each tensor: the positions of the nodes that read it, in order. */
  readonly readers: readonly (readonly number[])[]
  readonly marks: readonly Mark[]
  /** Of all nodes, in order. */
  readonly parameters: readonly Parameter[]
}

export const isLoss = (op: Op): boolean => op === 'softmaxCrossEntropy' || op === 'pixelCrossEntropy' || op === 'meanSquaredError'

export const extentsOfTensor = ({ input, nodes }: Pick<Graph, 'input' | 'nodes'>, tensor: number): Extents =>
  tensor === 0 ? input : nodes[tensor - 1]!.output

/** Who reads each tensor of a list of nodes. */
export const readersOf = (nodes: readonly Pick<Node, 'inputs'>[]): Graph['readers'] => {
  const readers: number[][] = Array.from({ length: nodes.length + 1 }, () => [])
  nodes.forEach(({ inputs }, position) => new Set(inputs).forEach((tensor) => readers[tensor]!.push(position)))
  return readers
}

const extentsOf = (shape: readonly number[]): Extents => [shape[0] ?? 1, shape[1] ?? 1, shape[2] ?? 1, shape[3] ?? 1]

type ParameterRule<P extends Op> = (args: ArgsOf<P>, inChannels: number) => readonly Omit<Parameter, 'name'>[]

const none = (): readonly Omit<Parameter, 'name'>[] => []

const weighted = (shape: readonly number[], out: number, bias = true): readonly Omit<Parameter, 'name'>[] => [
  { role: 'weight', shape },
  ...(bias ? [{ role: 'bias' as const, shape: [out] }] : [])
]

const affine = (channels: number, has: boolean): readonly Omit<Parameter, 'name'>[] => (has ? weighted([channels], channels) : [])

const parameterRules: { readonly [P in Op]: ParameterRule<P> } = {
  conv2d: (args, inChannels) => weighted([args.out, inChannels / (args.groups ?? 1), ...windowOf(args).kernel], args.out, args.bias),
  convTranspose2d: (args, inChannels) =>
    weighted([inChannels, args.out / (args.groups ?? 1), ...transposedWindowOf(args).kernel], args.out, args.bias),
  linear: ({ out, bias }, inFeatures) => weighted([out, inFeatures], out, bias),
  batchNorm: ({ affine: has = true }, channels) => [
    ...affine(channels, has),
    { role: 'runningMean', shape: [channels] },
    { role: 'runningVariance', shape: [channels] }
  ],
  groupNorm: ({ affine: has = true }, channels) => affine(channels, has),
  instanceNorm: ({ affine: has = false }, channels) => affine(channels, has),
  relu: none,
  leakyRelu: none,
  sigmoid: none,
  tanh: none,
  silu: none,
  gelu: none,
  maxPool2d: none,
  avgPool2d: none,
  adaptiveAvgPool2d: none,
  globalAvgPool: none,
  resize: none,
  flatten: none,
  dropout: none,
  add: none,
  concat: none,
  softmaxCrossEntropy: none,
  pixelCrossEntropy: none,
  meanSquaredError: none
}

/** As in PyTorch's state dictionaries. */
const parameterNames = { weight: 'weight', bias: 'bias', runningMean: 'running_mean', runningVariance: 'running_var' } as const

const parametersOf = <P extends Op>(name: string, op: P, args: ArgsOf<P>, inChannels: number): readonly Parameter[] =>
  (parameterRules[op] as ParameterRule<P>)(args, inChannels).map((one) => ({ ...one, name: `${name}.${parameterNames[one.role]}` }))

const startsSegment = (marks: readonly Mark[], position: number): boolean =>
  position === 0 || marks.some(({ kind, at }) => kind === 'checkpoint' && at === position)

/**
 * The model's flattened layers with shapes, for an input of [B, C, H, W]. A model that does not end in a loss gets
 * softmaxCrossEntropy, or pixelCrossEntropy. Fails with the sentence of the first layer that does not fit, the same that the types give.
 */
export const buildGraph = (model: Model, input: readonly number[]): E.Either<StagingError, Graph> =>
  pipe(
    trace(withLoss(model, input), input),
    E.mapLeft((sentence) => inputError(`${model.name} on ${input.join('x')}: ${sentence}.`)),
    E.map((layers) => {
      const nodes: Node[] = []
      const marks: Mark[] = []
      const shapes: (readonly number[])[] = [input]
      for (const { name, op, args, output, ...layer } of layers) {
        if (op === 'checkpoint') marks.push({ kind: 'checkpoint', at: nodes.length })
        else if (op === 'tile') marks.push({ kind: 'tile', at: nodes.length - (startsSegment(marks, nodes.length) ? 0 : 1), grid: args })
        else {
          const inputs = (layer as { readonly inputs?: readonly number[] }).inputs ?? [nodes.length]
          const [from, to] = [extentsOf(shapes[inputs[0]!]!), extentsOf(output)]
          const access = (accessMaps[op] as AccessRule<Op>)(args, from, to)
          nodes.push({ name, op, args, inputs, input: from, output: to, access, parameters: parametersOf(name, op, args, from[1]) } as Node)
          shapes.push(output)
        }
      }
      const parameters = nodes.flatMap((node) => node.parameters)
      return { model: model.name, input: extentsOf(input), nodes, readers: readersOf(nodes), marks, parameters }
    })
  )

/**
 * A loss is appended where there is none, per pixel where the model makes images; where the model asks for tiles, after a checkpoint, so
 * that its last segment stays as written; but not to layers that do not fit, of which a trace then says why.
 */
export const withLoss = ({ layers }: Model, input: readonly number[]): Layers => {
  const flat = flatLayers(layers)
  const ops = flat.filter(({ op }) => op !== 'checkpoint' && op !== 'tile')
  const last = ops[ops.length - 1]
  if (last !== undefined && isLoss(last.op as Op)) return layers
  const traced = trace(layers, input)
  if (E.isLeft(traced)) return layers
  const loss = traced.right.at(-1)?.output.length === 4 ? pixelCrossEntropy() : softmaxCrossEntropy
  return [...layers, ...(flat.some(({ op }) => op === 'tile') ? [checkpoint] : []), named('loss', loss)]
}

/** The same function every time; nodes stay where they are. */
export const withoutDropout = (graph: Graph): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) => (node.op === 'dropout' ? { ...node, args: { rate: 0 } } : node))
})

/** What is evaluated: without dropout, normalised by running statistics, and where there is a loss, each pixel counts alike. */
export const forEvaluation = (graph: Graph): Graph => ({
  ...withoutDropout(graph),
  nodes: withoutDropout(graph).nodes.map((node) => {
    if (node.op === 'batchNorm') return { ...node, args: { ...node.args, frozen: true } }
    return node.op === 'pixelCrossEntropy' ? { ...node, args: { ignore: node.args.ignore ?? 255 } } : node
  })
})

/** Identifies a graph in a plan: 64 hexadecimal digits over names, ops, arguments and shapes. */
export const graphHash = (graph: Graph): string =>
  createHash('sha256')
    .update(JSON.stringify([graph.input, graph.nodes.map(({ name, op, args, inputs, output }) => [name, op, args, inputs, output])]))
    .digest('hex')
