import type { Segment } from '../plan'
import { untiled } from '../tiling'
import type { Strategy } from './strategy'

/** `count` segments of about equally many ops, recomputed in backward; the last needs no recomputation. */
const equalSegments = (ops: number, count: number): readonly Segment[] =>
  Array.from({ length: count }, (_, index) => ({
    from: Math.floor((index * ops) / count),
    to: Math.floor(((index + 1) * ops) / count),
    grid: untiled,
    recompute: index < count - 1,
    reorder: 'once'
  }))

/** Sequential checkpoints at every ~√n-th op (Chen et al. 2016, as paper 002's baseline). */
export const chenSquareRoot: Strategy = ({ lowering }) => {
  const ops = lowering.graph.nodes.length
  return [equalSegments(ops, Math.round(Math.sqrt(ops)))]
}

/** The best of all numbers of segments s: fewest first, since each more recomputes more; staging takes the first that fits. */
export const chen: Strategy = ({ lowering }) => {
  const ops = lowering.graph.nodes.length
  return Array.from({ length: ops }, (_, index) => equalSegments(ops, index + 1))
}
