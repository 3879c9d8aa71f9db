import { isConvolutionOp } from '../../dsl/internal'
import { unlimitedBytes } from '../lowering/scope/workspace'
import { segmentScratch } from '../lowering/cost/segment-times'
import type { DeviceModel } from '../devices/device-model'
import type { StepGraph } from '../graph/step-graph'
import { untiled } from '../graph/span'
import type { Variants } from './strategy'

/**
 * Limits tried, as shares of the largest scratch that any kernel of the whole segment would take.
 */
const shares = [1, 1 / 8, 1 / 64, 0]

/**
 * Where whole kernels say nothing, since they take none or are refused: the largest limit for
 * tiles.
 */
const unknownBytes = 2 ** 30

/** From no limit on scratch downwards. */
export const workspaceVariants = (graph: StepGraph, device: DeviceModel): Variants => {
  const scratch = segmentScratch(graph, device)
  const largest = graph.nodes.map(({ op }, position) => {
    if (!isConvolutionOp(op)) return undefined
    const whole = {
      from: position,
      to: position + 1,
      grid: untiled,
      recompute: false,
      reorder: 'once',
      workspace: unlimitedBytes
    } as const
    const bytes = scratch(whole)
    return bytes === 0 || bytes === undefined ? unknownBytes : bytes
  })
  return ({ from, to }) => {
    const inside = largest.slice(from, to).flatMap((bytes) => bytes ?? [])
    if (inside.length === 0) return [{}]
    const limits = shares.map((share) => Math.floor(share * Math.max(...inside)))
    return [...new Set(limits)].map((workspace) => ({ workspace }))
  }
}
