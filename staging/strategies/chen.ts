import { asWritten } from '../order'
import { untiled } from '../tiling'
import type { Segmentation, Strategy } from './strategy'
import { withVariants } from './variants'

/** `count` segments of about equally many ops, recomputed in backward; the last needs no recomputation. */
const equalSegments = (ops: number, count: number): Segmentation =>
  Array.from({ length: count }, (_, index) => ({
    from: Math.floor((index * ops) / count),
    to: Math.floor(((index + 1) * ops) / count),
    grid: untiled,
    recompute: index < count - 1,
    reorder: 'once'
  }))

/** Sequential checkpoints at every ~√n-th op (Chen et al. 2016, as paper 002's baseline). */
export const chenSquareRoot: Strategy = {
  obeysMarks: false,
  order: asWritten,
  kind: 'fixed',
  all: ({ lowering: { graph }, variants }) =>
    withVariants(variants, equalSegments(graph.nodes.length, Math.round(Math.sqrt(graph.nodes.length))))
}

/** The best of all numbers of segments s. */
export const chen: Strategy = {
  obeysMarks: false,
  order: asWritten,
  kind: 'fixed',
  all: ({ lowering: { graph }, variants }) =>
    graph.nodes.flatMap((_, index) => withVariants(variants, equalSegments(graph.nodes.length, index + 1)))
}
