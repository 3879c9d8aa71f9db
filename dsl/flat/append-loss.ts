import type { AnyLayer, Layers } from '../arguments'
import { checkpoint, named } from '../net'
import { flatLayers } from './flat-layers'

/**
 * The layers with a loss at their end, named `loss`, or `loss1`, ... where a layer has that name.
 * Where they ask for tiles it stands after a checkpoint, so that their last segment stays as
 * written.
 */
export const appendLoss = (layers: Layers, loss: AnyLayer): Layers => {
  const flat = flatLayers(layers)
  const taken = new Set(flat.map(({ name }) => name))
  let name = 'loss'
  for (let number = 1; taken.has(name); number += 1) name = `loss${number}`
  return [...layers, ...(flat.some(({ op }) => op === 'tile') ? [checkpoint] : []), named(name, loss)]
}
