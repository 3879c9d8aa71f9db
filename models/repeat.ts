import type { AnyLayer, Layers } from '../dsl'

/** L, N times over. */
export type Repeat<L extends Layers, N extends number> = number extends N
  ? Layers
  : Grown<L, N> extends infer All extends Layers
    ? All
    : never
type Grown<
  L extends Layers,
  N extends number,
  Rounds extends readonly unknown[] = [],
  All extends Layers = readonly []
> = Rounds['length'] extends N ? All : Grown<L, N, [...Rounds, unknown], readonly [...All, ...L]>

/** The layers of a list, `count` times over. */
export const repeat = <const L extends Layers, const N extends number>(layers: L, count: N): Repeat<L, N> =>
  Array.from({ length: count }).flatMap(() => layers) as Layers as Repeat<L, N>

/** First, and then Next until there are N. */
export type RepeatedLayers<First extends AnyLayer, Next extends AnyLayer, N extends number> =
  Repeat<readonly [Next], N> extends readonly [AnyLayer, ...infer Others extends Layers] ? readonly [First, ...Others] : Layers

/** `count` layers, at least one, of which only the first differs. */
export const stack = <const First extends AnyLayer, const Next extends AnyLayer, const N extends number>(
  first: First,
  next: Next,
  count: N
): RepeatedLayers<First, Next, N> => [first, ...repeat([next], count).slice(1)] as Layers as RepeatedLayers<First, Next, N>
