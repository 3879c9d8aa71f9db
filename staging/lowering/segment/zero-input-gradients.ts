import { zeroBuffer } from '../scope/copies'
import type { Body, Region } from '../ir/tile-tensor'
import { writesDirectly } from '../tile/input-gradients'
import type { Reductions } from './reductions'
import { findInputGradient, isFirstToContribute, type SegmentBackward } from './segment-backward'

/** What a tile reads of an input by the op whose backward comes first. */
const findFirstReading = ({ scope, code: { segment } }: SegmentBackward, tensor: number): ((body: Body) => Region) => {
  const reader = scope.graph.readers[tensor]!.filter((one) => one < segment.to).at(-1)!
  return (body) => body.read(reader - segment.from, tensor)
}

/**
 * Before the tiles: zeroes the gradients of inputs to which this segment is the first to
 * contribute, unless each tile writes its part.
 */
export const zeroInputGradients = (backward: SegmentBackward, { pending }: Reductions): void => {
  const { scope, code } = backward
  for (const tensor of code.ends.inputs) {
    const whole = findInputGradient(backward, tensor)
    if (whole === undefined || whole === 'stepIo' || !isFirstToContribute(backward, tensor)) continue
    const waits = pending.filter((one) => one.tensor === tensor)
    if (waits.some(({ dy }) => dy === whole)) continue
    const regionIn = findFirstReading(backward, tensor)
    const isAdded = waits.length > 0 || code.bodies.some((body) => !writesDirectly(scope, whole, regionIn(body), code.segment))
    // Of a tensor that each rank has whole, the tiles of one have its images alone.
    const images = code.bodies.reduce((sum, body) => sum + body.runs[0].count * regionIn(body).size[0], 0)
    if (isAdded || images < whole.extents[0]) zeroBuffer(scope.builder, whole.buffer)
  }
}
