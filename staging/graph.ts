import { createHash } from 'node:crypto'
import * as E from 'fp-ts/Either'
import { flatLayers, shapeRules, type ArgsOf, type Model, type Op } from '../dsl'
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

/** What a person wrote between layers: a segment must end before node `at`, or the segment that holds it has this grid. */
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

const convolutionWeightShape = (args: ArgsOf<'conv2d'>, inChannels: number): readonly number[] => {
  const kernel = typeof args.k === 'number' ? [args.k, args.k] : args.k
  return [args.out, inChannels / (args.groups ?? 1), ...kernel]
}

const isExtent = (value: number): boolean => Number.isSafeInteger(value) && value > 0

/**
 * The model's flattened layers with shapes, for an input of [B, C, H, W]. A model that does not end in a loss gets
 * softmaxCrossEntropy. Fails with the sentence of the first layer whose shape rule refuses.
 */
export const buildGraph = (model: Model, input: readonly number[]): E.Either<StagingError, Graph> => {
  if (input.length !== 4 || !input.every(isExtent))
    return E.left(inputError(`the input ${input.join('x')} is not four whole numbers above zero, as in 1x3x512x512.`))
  const layers = flatLayers(model.layers)
  const computed = layers.filter((layer) => layer.op !== 'checkpoint' && layer.op !== 'tile')
  const last = computed[computed.length - 1]
  if (last === undefined) return E.left(inputError(`the model ${model.name} has no layers.`))
  const complete = isLoss(last.op as Op) ? layers : [...layers, { name: 'loss', op: 'softmaxCrossEntropy', args: {} } as const]

  const nodes: Node[] = []
  const marks: Mark[] = []
  let shape: readonly number[] = input
  for (const { name, op, args } of complete) {
    if (op === 'checkpoint') marks.push({ kind: 'checkpoint', at: nodes.length })
    else if (op === 'tile') marks.push({ kind: 'tile', at: Math.max(0, nodes.length - 1), grid: args as { [A in TileAxis]?: number } })
    else {
      if (shape.length === 0) return E.left(inputError(`${name}: nothing can follow the loss.`, name))
      const rule = shapeRules[op] as (args: unknown, shape: readonly number[]) => E.Either<string, readonly number[]>
      const output = rule(args, shape)
      if (E.isLeft(output)) return E.left(inputError(`${name}: ${output.left}.`, name))
      const access = (accessMaps[op] as (args: unknown) => AccessMap)(args)
      const [from, to] = [extentsOf(shape), extentsOf(output.right)]
      const parameters = parametersOf(name, op, args, from, to)
      nodes.push({ name, op, args, input: from, output: to, access, parameters } as Node)
      shape = output.right
    }
  }
  const parameters = nodes.flatMap((node) => node.parameters)
  const names = parameters.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return E.left(inputError(`two layers share the parameter name ${twice}; give one of them another name.`))
  return E.right({ model: model.name, input: extentsOf(input), nodes, marks, parameters })
}

/** Identifies a graph in a plan: 64 hexadecimal digits over names, ops, arguments and shapes. */
export const graphHash = (graph: Graph): string =>
  createHash('sha256')
    .update(JSON.stringify([graph.input, graph.nodes.map(({ name, op, args, output }) => [name, op, args, output])]))
    .digest('hex')
