import type { TileTensor } from '../ir/tile-tensor'
import { copyPart, freshTile, zeroTile } from '../scope/copies'
import { wholePart, isSameRegion, regionExtents, within } from '../scope/regions'
import type { BackwardTile } from './bound-gradients'
import { seedFromHost } from './host-gradients'
import { forWriting } from './shared-gradients'
import { viewOfOutput } from './output-buffers'

/**
 * The gradient of a tensor in a tile: the owned part of what comes from behind the segment, added
 * to what came from within.
 */
export const outputGradient = (backwardTile: BackwardTile, tensor: number): TileTensor | undefined => {
  const { scope, bound, body, received } = backwardTile
  const { builder, activationBytes, graph } = scope
  const fromWithin = received.get(tensor)
  if (!bound.ends.outputs.includes(tensor)) return fromWithin
  const [region, owned] = [body.held(tensor), body.owned(tensor)]
  const hostTensor = bound.hostTensors.get(tensor)
  const whole = hostTensor === undefined ? bound.boundaries.get(tensor)?.gradient : hostTensor.gradient
  if (whole === undefined) return fromWithin
  const alone = fromWithin === undefined && isSameRegion(region, owned)
  const part = hostTensor && seedFromHost(scope, hostTensor, owned)
  if (part === undefined) builder.seed(whole.buffer)
  const seed = alone ? (part ?? viewOfOutput(scope, graph.nodes[tensor - 1]!, whole, region)) : undefined
  if (seed !== undefined) return seed
  const tile =
    fromWithin === undefined
      ? freshTile(scope, { kind: 'seed' }, regionExtents(region, whole.extents[1]), whole.layout)
      : forWriting(backwardTile, fromWithin, tensor)
  if (fromWithin === undefined && !isSameRegion(region, owned)) zeroTile(builder, tile, activationBytes)
  const source = part === undefined ? { tensor: whole, region: owned } : wholePart(part)
  copyPart(builder, source, { tensor: tile, region: within(region, owned) }, fromWithin === undefined ? 0 : 1, activationBytes)
  return tile
}
