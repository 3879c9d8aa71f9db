import type { TileScope } from '../scope/scope'
import { arenaOperand } from '../ir/builder'
import { inStepIo, originOperands, regionExtents, tileFields } from '../scope/regions'
import type { Region, TileTensor } from '../ir/tile-tensor'

/**
 * A tile of the network's input: packed from float values, or loaded from the images to where
 * `allocate` says or, while the tile before it is computed, to its slot's place; left empty unless
 * `wanted`.
 */
export const createImageTile = (
  { builder, stepIo, parameterBytes, graph, layouts, slot }: TileScope,
  region: Region,
  allocate: () => TileTensor,
  wanted: boolean
): TileTensor => {
  const place = slot?.places.get('images')
  const tile: TileTensor =
    place === undefined ? allocate() : { address: arenaOperand(place), extents: regionExtents(region, graph.input[1]), layout: layouts[0]! }
  if (!wanted) return tile
  const { source } = graph
  if (source.kind === 'float') {
    const { fields, address } = inStepIo(tile, graph.input, region, stepIo.input, parameterBytes)
    builder.launch<'packTile'>({ kind: 'packTile', ...fields }, { source: address, destination: tile.address })
    return tile
  }
  const full = { fullHeight: graph.input[2], fullWidth: graph.input[3] }
  const kernel = {
    kind: 'loadImage' as const,
    ...full,
    ...tileFields(tile),
    // Plans are made, and compared, before the images of other channels are known.
    normalisation: Array.from({ length: graph.input[1] }, (_, channel) => [
      source.mean[channel] ?? 0,
      source.deviation[channel] ?? 1
    ]).flat()
  }
  const operands = { destination: tile.address, ...originOperands(region) }
  if (slot === undefined || place === undefined) builder.launch<'loadImage'>(kernel, operands)
  else {
    const loaded = builder.freshEvent()
    builder.wait('to-device', slot.computed)
    builder.load(kernel, operands)
    builder.record('to-device', loaded)
    builder.wait('compute', loaded)
  }
  return tile
}
