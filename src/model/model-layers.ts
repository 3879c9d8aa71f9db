import type { AnyLayer, Layers, Model } from '../../dsl'
import { type Op, isDirective, isLoss, knowsOption } from '../../dsl/internal'

/** The arguments of a container that hold layers. */
interface Held {
  readonly layer?: AnyLayer
  readonly layers?: Layers
  readonly main?: Layers
  readonly shortcut?: Layers
  readonly gate?: Layers
  readonly branches?: readonly Layers[]
}

/** The layers with each op replaced by what `change` makes of it. */
export const mapOps = (layers: Layers, change: (op: AnyLayer) => AnyLayer): Layers =>
  layers.map((layer) => {
    const all = (inner: Layers): Layers => mapOps(inner, change)
    const { layer: one, layers: listed, main, shortcut, gate, branches } = layer.args as Held
    const held = {
      ...(one && { layer: all([one])[0] }),
      ...(listed && { layers: all(listed) }),
      ...(main && { main: all(main) }),
      ...(shortcut && { shortcut: all(shortcut) }),
      ...(gate && { gate: all(gate) }),
      ...(branches && { branches: branches.map(all) })
    }
    return Object.keys(held).length === 0 ? change(layer) : { op: layer.op, args: { ...layer.args, ...held } as AnyLayer['args'] }
  })

/** Tells whether a layer, which is no container, is a loss. */
export const isLossLayer = ({ op }: Pick<AnyLayer, 'op'>): boolean => !isDirective(op) && isLoss(op as Op)

/** The option of a layer that knows one of this name. */
const withOption = (option: string, value: unknown) => (layer: AnyLayer) =>
  knowsOption(layer.op, option) ? { op: layer.op, args: { ...layer.args, [option]: value } as AnyLayer['args'] } : layer

/** The model with every batch normalisation by its running statistics. */
export const freezeModel = ({ name, layers }: Model): Model => ({
  name,
  layers: mapOps(layers, withOption('frozen', true))
})
