import { sourceOrder } from '../graph/order'
import { untiled } from '../graph/span'
import type { Segmentation, Strategy } from './strategy'
import { withVariants } from './variants'

/**
 * `count` segments of about equally many ops, recomputed in backward; the last needs no
 * recomputation.
 */
const equalSegments = (ops: number, count: number): Segmentation =>
  Array.from({ length: count }, (_, index) => ({
    from: Math.floor((index * ops) / count),
    to: Math.floor(((index + 1) * ops) / count),
    grid: untiled,
    recompute: index < count - 1,
    reorder: 'once'
  }))

/** Sequential checkpoints at every ~√n-th op (Chen 2016, the baseline of Xu 2022). */
export const chenSquareRoot: Strategy = {
  obeysDirectives: false,
  order: sourceOrder,
  kind: 'fixed',
  all: ({ graph, variants }) => withVariants(variants, equalSegments(graph.nodes.length, Math.round(Math.sqrt(graph.nodes.length))))
}

/** Numbers of segments that are tried: of deep networks not every one. */
const countsUpTo = (ops: number): readonly number[] => {
  const counts: number[] = []
  for (let count = 1; count <= ops; count = ops <= 48 ? count + 1 : Math.max(count + 1, Math.round(count * 1.3))) counts.push(count)
  return counts
}

/** The best of the numbers of segments s. */
export const chen: Strategy = {
  obeysDirectives: false,
  order: sourceOrder,
  kind: 'fixed',
  all: ({ graph, variants }) =>
    countsUpTo(graph.nodes.length).flatMap((count) => withVariants(variants, equalSegments(graph.nodes.length, count)))
}
