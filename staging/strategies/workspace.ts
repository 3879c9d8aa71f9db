import { segmentScratch } from '../lowering/estimate'
import type { Lowering } from '../lowering/lower'
import { untiled } from '../tiling'
import type { Variants } from './variants'

/** Limits tried, as shares of the largest scratch that any kernel of the whole segment would take. */
const shares = [1, 1 / 8, 1 / 64, 0]

/** From no limit on scratch downwards. */
export const workspaceVariants = (lowering: Lowering): Variants => {
  const { nodes } = lowering.graph
  const scratch = segmentScratch(lowering)
  const largest = nodes.map(({ op }, position) => {
    if (op !== 'conv2d') return undefined
    return scratch({ from: position, to: position + 1, grid: untiled, recompute: false, reorder: 'once', workspace: Infinity })
  })
  return ({ from, to }) => {
    const inside = largest.slice(from, to).flatMap((bytes) => bytes ?? [])
    if (inside.length === 0) return [{}]
    const limits = shares.map((share) => Math.floor(share * Math.max(...inside)))
    return [...new Set(limits)].map((workspace) => ({ workspace }))
  }
}
