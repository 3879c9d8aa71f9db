import { refusedBytes } from '../device-model'
import { segmentScratch } from '../lowering/estimate'
import type { Lowering } from '../lowering/lower'
import type { Segment } from '../plan'
import { untiled } from '../tiling'
import { wholeGraph } from './plain'
import type { Segmentation } from './strategy'

/** Bytes of scratch with which a convolution's algorithms change, largest first, down to 0. */
type Levels = readonly number[]

const levelsOf = (scratch: (segment: Segment) => number, position: number): Levels => {
  const levels: number[] = []
  let level = refusedBytes
  while (level > 0) {
    const workspace = level - 1
    const taken = scratch({ from: position, to: position + 1, grid: untiled, recompute: false, reorder: 'once', workspace })
    // Where none is within the limit, the direct algorithm takes what it must.
    level = taken > workspace ? 0 : taken
    levels.push(level)
  }
  return levels
}

const within = (levels: Levels, bytes: number): number => levels.find((level) => level <= bytes) ?? 0

/**
 * Everything kept and whole, each convolution with the fastest algorithms in the bytes that are free for it (paper 003, section 4.2): a
 * segment for all neighbours that one limit serves.
 */
export const workspacesWithin = (lowering: Lowering): ((free: (position: number) => number) => Segmentation) => {
  const { nodes } = lowering.graph
  const scratch = segmentScratch(lowering)
  const convolutions = nodes.flatMap(({ op }, position) => (op === 'conv2d' ? [{ position, levels: levelsOf(scratch, position) }] : []))
  return (free) => {
    const [whole] = wholeGraph(lowering.graph)
    const segments: Segment[] = []
    let sharing: { readonly levels: Levels; readonly own: number }[] = []
    let from = 0
    const close = (to: number): void => {
      segments.push({ ...whole!, from, to, workspace: Math.max(0, ...sharing.map(({ own }) => own)) })
      from = to
      sharing = []
    }
    for (const { position, levels } of convolutions) {
      const one = { levels, own: within(levels, Math.max(0, free(position))) }
      const limit = Math.max(one.own, ...sharing.map(({ own }) => own))
      if (sharing.length > 0 && [...sharing, one].some(({ levels, own }) => within(levels, limit) !== own)) close(position)
      sharing.push(one)
    }
    close(nodes.length)
    return segments
  }
}
