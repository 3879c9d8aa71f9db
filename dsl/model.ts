import type { Fit } from './apply'
import type { Layers } from './arguments'
import type { Shape } from './shape'
import type { Images } from './rules'
import type { Accept, AnyTensor, Start } from './tensor'

/** A network under a name; `input` [B, C, H, W] is what it is checked and planned for unless another is given. */
export interface Model<L extends Layers = Layers, S extends Shape = Shape> {
  readonly name: string
  readonly layers: L
  readonly input?: S
}

/** A model from its layers; where `input` is given, a layer that does not fit it is an error at that layer. */
export const model = <const L extends Layers, const S extends Shape>(definition: {
  readonly name: string
  readonly input?: S & Accept<Images<S>>
  readonly layers: L & Fit<Start<S>, L>
}): Model<L, S> => definition as Model<L, S>

/** A model from what fp-ts `pipe` or `net` made. */
export const modelOf = (name: string, { input, layers }: AnyTensor): Model => ({ name, input, layers })
