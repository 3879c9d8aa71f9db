import type { AnyLayer, ContainerArguments, Layers, MarkArguments, OpArguments } from './arguments'
import { isMark } from './segment'

interface FlatArguments extends OpArguments, MarkArguments {}

/** An op or a mark, with its full name: "features.0". */
export type FlatLayer = {
  [P in keyof FlatArguments]: { readonly name: string; readonly op: P; readonly args: FlatArguments[P] }
}[keyof FlatArguments]

const nameOf = (layer: AnyLayer, index: number): string => ('name' in layer.args ? layer.args.name : undefined) ?? `${index}`

const flat = (layer: AnyLayer, name: string): readonly FlatLayer[] => {
  switch (layer.op) {
    case 'seq':
      return flatLayers((layer.args as ContainerArguments['seq']).layers, `${name}.`)
    case 'named':
      return flat((layer.args as ContainerArguments['named']).layer, name)
    default:
      return [{ name, op: layer.op, args: layer.args } as FlatLayer]
  }
}

/**
 * The ops and marks of a list in order, containers expanded. A layer is named by its place among its siblings, as in
 * torch.nn.Sequential, or by the name it was given; marks take no place.
 */
export const flatLayers = (layers: Layers, prefix = ''): readonly FlatLayer[] => {
  const places = layers.map((_, position) => layers.slice(0, position).filter((layer) => !isMark(layer.op)).length)
  return layers.flatMap((layer, position) => flat(layer, `${prefix}${nameOf(layer, places[position]!)}`))
}
