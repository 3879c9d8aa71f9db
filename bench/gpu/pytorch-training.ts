import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { builtIn } from '../../models'
import { buildGraph, isTrainable } from '../../staging'
import type { CheckPrecision } from './check-options'
import type { Pytorch } from './pytorch'
import { type Refusal, refusal } from './refusal'
import type { Workload } from './workload'

/**
 * PyTorch's ways to train, each as pytorch_peer.py knows it: the first two as they are, the others
 * within less memory.
 */
const plainWays = [
  { name: 'PyTorch, plain', mode: 'plain', segments: 0, format: 'nchw' },
  { name: 'PyTorch, plain, channels_last', mode: 'plain', segments: 0, format: 'channels_last' }
] as const
const sparingWays = [
  { name: 'PyTorch, checkpoint_sequential 4', mode: 'checkpoint', segments: 4, format: 'nchw' },
  { name: 'PyTorch, save_on_cpu', mode: 'offload', segments: 0, format: 'nchw' }
] as const
/** The ways in which PyTorch trains: as it is, and with less memory too. */
export const ways = { plain: plainWays, all: [...plainWays, ...sparingWays] } as const

/** One way in which PyTorch trains. */
export type Way = (typeof ways)['all'][number]

/** Some training steps of PyTorch's. */
export interface Training extends Workload {
  readonly classes: number
  readonly precision: CheckPrecision
  /** null: the whole card. */
  readonly memoryBytes: number | null
  /** The first warms up. */
  readonly steps: number
}

const Trained = t.type({ ms: t.readonlyArray(t.number), peakBytes: t.union([t.number, t.null]) })
/**
 * Milliseconds of each step, and the most memory that was reserved; null where nobody counts it.
 */
export type Trained = t.TypeOf<typeof Trained>

/** What our model learns: PyTorch's must have as many parameters, or it is another. */
const parametersOf = ({ model, classes, batch, size }: Omit<Training, 'steps'>): E.Either<Refusal, number> => {
  const graph = buildGraph(builtIn[model]!({ classes }), [batch, 3, size, size])
  if (E.isLeft(graph)) return E.left(refusal(graph.left.message))
  const learnt = graph.right.parameters.filter(isTrainable)
  return E.right(learnt.reduce((sum, { shape }) => sum + shape.reduce((count, extent) => count * extent, 1), 0))
}

const Prepared = t.type({ prepared: t.literal(true) })

/** Compiles a training step in a process of PyTorch of its own, and warms it up. */
export const prepareCompiled = async (
  { ask }: Pytorch,
  { name: _, ...way }: Way,
  training: Omit<Training, 'steps'>,
  seconds: number
): Promise<E.Either<Refusal, unknown>> => {
  const parameters = parametersOf(training)
  if (E.isLeft(parameters)) return parameters
  return ask(Prepared, { kind: 'prepare', compile: true, warm: 3, ...way, ...training, parameters: parameters.right }, seconds)
}

/** Runs steps of what was prepared. */
export const stepPrepared = ({ ask }: Pytorch, steps: number, seconds: number): Promise<E.Either<Refusal, Trained>> =>
  ask(Trained, { kind: 'steps', steps }, seconds)

/** Runs some training steps in the process of PyTorch, within so many seconds. */
export const trainPytorch = async (
  { ask }: Pytorch,
  { name: _, ...way }: Way,
  training: Training,
  seconds: number
): Promise<E.Either<Refusal, Trained>> => {
  const parameters = parametersOf(training)
  if (E.isLeft(parameters)) return parameters
  return ask(Trained, { kind: 'train', ...way, ...training, parameters: parameters.right }, seconds)
}
