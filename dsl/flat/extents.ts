import type { Directive, Op } from '../arguments'
import type { OutputShape } from '../ops'
import type { Resizing, SegmentOpOf, Summing } from '../shapes/segment'
import type { Shape } from '../shapes/shape'

type Units = readonly unknown[]
/** Images whose channels do not matter, so that layers of the same extents are told once. */
type Image = readonly [batch: number, channels: number, height: number, width: number]

/**
 * The extents that tiles partition if a segment ends at each op of a list, in the order of Flat:
 * those of the op's output for images of shape S, or of its input where it sums over the pixels.
 * The last entry is the list's output, which the loss that training appends takes.
 */
export type FlatExtents<L, S extends Shape> = S extends readonly [
  infer B extends number,
  number,
  infer H extends number,
  infer W extends number
]
  ? ExtentsFrom<L, readonly [B, number, H, W], readonly [B, number, H, W]> extends readonly [infer All extends readonly Image[], infer Out]
    ? readonly [...All, Out]
    : readonly []
  : readonly []

/** The extents of each op, and those of the list's output. */
type Extents = readonly [all: readonly Image[], out: Image]

type ExtentsFrom<
  L,
  S extends Image,
  Start extends Image,
  Out extends readonly Image[] = readonly [],
  I extends Units = readonly []
> = L extends Units
  ? I['length'] extends L['length']
    ? readonly [Out, S]
    : ExtentsOf<L[I['length'] & number], S, Start> extends readonly [infer Inner extends readonly Image[], infer Last extends Image]
      ? ExtentsFrom<L, Last, Start, readonly [...Out, ...Inner], readonly [...I, unknown]>
      : never
  : Extents

type ExtentsOf<X, S extends Image, Start extends Image> = X extends { readonly op: infer N; readonly args: infer A }
  ? N extends Op
    ? N extends Resizing
      ? OutputShape<N, S, A, Start> extends readonly [number, number, infer H extends number, infer W extends number]
        ? readonly [readonly [SegmentOpOf<N, A> extends Summing ? S : readonly [S[0], number, H, W]], readonly [S[0], number, H, W]]
        : Extents
      : readonly [readonly [S], S]
    : N extends Directive
      ? readonly [readonly [], S]
      : A extends { readonly layer: infer Inner }
        ? ExtentsOf<Inner, S, Start>
        : A extends { readonly layers: infer Inner }
          ? ExtentsFrom<Inner, S, Start>
          : A extends { readonly main: infer M; readonly shortcut: infer T }
            ? BlockExtents<readonly [M, T], S>
            : A extends { readonly main: infer M; readonly gate: infer G }
              ? BlockExtents<readonly [M, G], S>
              : A extends { readonly branches: infer B }
                ? BlockExtents<B, S>
                : Extents
  : Extents

/** Branches end with the extents of the first, or are broadcast to them. */
type BlockExtents<
  B,
  S extends Image,
  Out extends readonly Image[] = readonly [],
  End extends Image | undefined = undefined
> = B extends readonly [infer First, ...infer Rest]
  ? ExtentsFrom<First, S, S> extends readonly [infer Inner extends readonly Image[], infer Last extends Image]
    ? BlockExtents<Rest, S, readonly [...Out, ...Inner], End extends Image ? End : Last>
    : never
  : End extends Image
    ? readonly [readonly [...Out, End], End]
    : readonly [readonly [...Out, S], S]
