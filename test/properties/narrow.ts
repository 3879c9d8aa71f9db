import type { AnyLayer, Model } from '../../dsl'
import { mapOps } from '../../src/model/model-layers'

/**
 * A network with a share of the channels between its layers: as many layers in the same shape, and
 * far fewer weights to compute, compare and move. The last layer keeps its classes.
 */
export const narrow = ({ name, layers }: Model, divisor: number): Model => ({
  name,
  layers: mapOps(layers, (layer) => {
    const { out } = layer.args as { readonly out?: number }
    return (layer.op === 'conv2d' || layer.op === 'convTranspose2d') && out !== undefined
      ? { op: layer.op, args: { ...layer.args, out: Math.ceil(out / divisor) } as AnyLayer['args'] }
      : layer
  })
})
