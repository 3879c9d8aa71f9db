/** Programs of ranks that share the rows of small networks, for tests that edit them. */
import { isLeft } from 'fp-ts/Either'
import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, model, relu, type Layers } from '../../dsl'
import { stage, verify, verifyRanks, type Segment, type Training } from '../../staging'
import { referenceModel } from '../../staging/devices/reference-model'
import type { Program } from '../../staging/program/program'
import { must } from '../must'

export const layers = [
  ...[conv2d({ out: 4, k: 3, p: 1 }), relu, conv2d({ out: 4, k: 3, p: 1 }), relu],
  ...[maxPool2d({ k: 2 }), conv2d({ out: 8, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })]
] as const

export const segment = (from: number, to: number, H = 1): Segment => ({
  from,
  to,
  grid: { B: 1, H, W: 1 },
  recompute: H > 1,
  reorder: 'once'
})

export const requestFor = (given: Layers, segments: readonly Segment[], objective: Partial<Training>) => ({
  model: model({ name: 'shared', input: [1, 3, 64, 32], layers: given as typeof layers }),
  device: referenceModel('float64'),
  strategy: 'sft' as const,
  given: { order: Array.from({ length: given.length + 1 }, (_, position) => position), segments },
  objective: { kind: 'train' as const, optimizer: { kind: 'sgd' as const, momentum: 0.9, weightDecay: 0 }, ...objective },
  source: { kind: 'float' as const }
})

const segments = [segment(0, 2, 2), segment(2, 5), segment(5, 7), segment(7, 9)]

export const programsOf = (count: number): readonly Program[] =>
  Array.from({ length: count }, (_, index) => must(stage(requestFor(layers, segments, { shard: { count, index } }))).program)

export const normalising = [
  conv2d({ out: 4, k: 3, p: 1 }),
  batchNorm(),
  relu,
  conv2d({ out: 8, k: 3, p: 1 }),
  globalAvgPool,
  linear({ out: 2 })
] as const

export const normalisingPrograms = (count: number): readonly Program[] =>
  Array.from(
    { length: count },
    (_, index) =>
      must(stage(requestFor(normalising, [segment(0, 1), segment(1, 5, 2), segment(5, 7)], { shard: { count, index } }))).program
  )

/** What is said of Programs together, whatever each is by itself. */
export const sentenceTogether = (programs: readonly Program[]): string => {
  const together = verifyRanks(programs)
  return isLeft(together) ? together.left.message : 'nothing is wrong'
}

export const sentenceOf = (programs: readonly Program[]): string => {
  for (const program of programs) {
    const verified = verify(program)
    if (isLeft(verified)) return verified.left.message
  }
  return sentenceTogether(programs)
}
