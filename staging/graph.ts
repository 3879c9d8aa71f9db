import { createHash } from 'node:crypto'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { checkpoint, flatLayers, named, softmaxCrossEntropy, trace, windowOf, type ArgsOf, type Layers, type Model, type Op } from '../dsl'
import { accessMaps, type AccessMap } from './access'
import type { TileAxis } from './program'
import { inputError, type StagingError } from './error'

/** Extents of a tensor as batch, channels, height, width; flat tensors have height and width 1, a scalar is all ones. */
export type Extents = readonly [batch: number, channels: number, height: number, width: number]

export interface Parameter {
  readonly name: string
  readonly role: 'weight' | 'bias'
  readonly shape: readonly number[]
}

/** One op of the network with its tensors known. Tensor k is the input of node k and the output of node k - 1. */
interface NodeOf<P extends Op> {
  readonly name: string
  readonly op: P
  readonly args: ArgsOf<P>
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
  readonly marks: readonly Mark[]
  /** Of all nodes, in order. */
  readonly parameters: readonly Parameter[]
}

export const isLoss = (op: Op): boolean => op === 'softmaxCrossEntropy' || op === 'meanSquaredError'

const extentsOf = (shape: readonly number[]): Extents => [shape[0] ?? 1, shape[1] ?? 1, shape[2] ?? 1, shape[3] ?? 1]

export const elementsOf = (extents: Extents): number => extents.reduce((product, extent) => product * extent, 1)

const parametersOf = (name: string, op: Op, args: unknown, input: Extents, output: Extents): readonly Parameter[] => {
  if (op !== 'conv2d' && op !== 'linear') return []
  const { bias = true } = args as { readonly bias?: boolean }
  const shape = op === 'linear' ? [output[1], input[1]] : convolutionWeightShape(args as ArgsOf<'conv2d'>, input[1])
  return [
    { name: `${name}.weight`, role: 'weight', shape },
    ...(bias ? [{ name: `${name}.bias`, role: 'bias' as const, shape: [output[1]] }] : [])
  ]
}

const convolutionWeightShape = (args: ArgsOf<'conv2d'>, inChannels: number): readonly number[] => [
  args.out,
  inChannels / (args.groups ?? 1),
  ...windowOf(args).kernel
]

const startsSegment = (marks: readonly Mark[], position: number): boolean =>
  position === 0 || marks.some(({ kind, at }) => kind === 'checkpoint' && at === position)

/**
 * The model's flattened layers with shapes, for an input of [B, C, H, W]. A model that does not end in a loss gets
 * softmaxCrossEntropy. Fails with the sentence of the first layer that does not fit, the same that the types give.
 */
export const buildGraph = (model: Model, input: readonly number[]): E.Either<StagingError, Graph> =>
  pipe(
    trace(withLoss(model), input),
    E.mapLeft((sentence) => inputError(`${model.name} on ${input.join('x')}: ${sentence}.`)),
    E.map((layers) => {
      const nodes: Node[] = []
      const marks: Mark[] = []
      let shape = input
      for (const { name, op, args, output } of layers) {
        if (op === 'checkpoint') marks.push({ kind: 'checkpoint', at: nodes.length })
        else if (op === 'tile') marks.push({ kind: 'tile', at: nodes.length - (startsSegment(marks, nodes.length) ? 0 : 1), grid: args })
        else {
          const [from, to] = [extentsOf(shape), extentsOf(output)]
          const access = (accessMaps[op] as (args: unknown) => AccessMap)(args)
          nodes.push({ name, op, args, input: from, output: to, access, parameters: parametersOf(name, op, args, from, to) } as Node)
        }
        shape = output
      }
      return { model: model.name, input: extentsOf(input), nodes, marks, parameters: nodes.flatMap((node) => node.parameters) }
    })
  )

/** A loss is appended where there is none; where the model asks for tiles, after a checkpoint, so that its last segment stays as written. */
const withLoss = ({ layers }: Model): Layers => {
  const flat = flatLayers(layers)
  const ops = flat.filter(({ op }) => op !== 'checkpoint' && op !== 'tile')
  const last = ops[ops.length - 1]
  if (last !== undefined && isLoss(last.op as Op)) return layers
  return [...layers, ...(flat.some(({ op }) => op === 'tile') ? [checkpoint] : []), named('loss', softmaxCrossEntropy)]
}

/** The same function every time; nodes stay where they are. */
export const withoutDropout = (graph: Graph): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) => (node.op === 'dropout' ? { ...node, args: { rate: 0 } } : node))
})

/** Identifies a graph in a plan: 64 hexadecimal digits over names, ops, arguments and shapes. */
export const graphHash = (graph: Graph): string =>
  createHash('sha256')
    .update(JSON.stringify([graph.input, graph.nodes.map(({ name, op, args, output }) => [name, op, args, output])]))
    .digest('hex')
