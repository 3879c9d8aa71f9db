import type { Lte, Mul } from '../shapes/arithmetic'
import type { Entries, Entry } from '../flat/entries'
import type { FlatExtents } from '../flat/extents'
import type { PlanFileSegment } from './plan-file'
import type { ShowSegment } from './segment-names'
import type { SegmentOpOfText, Summing } from '../shapes/segment'
import type { Shape } from '../shapes/shape'
import type { Invalid } from '../typing/tensor'

type Segments = readonly PlanFileSegment[]

/**
 * Gives the sentence on why segments have more tiles than there are images, rows or columns at
 * their ends. E: the layers in order, of which L are the model's; S: the input. Extents are worked
 * out, which costs, only where a count is not far below those of the input: what shrinks more than
 * that, run time says.
 */
export type CheckedGrids<E, O extends readonly number[], L, S extends Shape, G extends Segments> = number extends S['length'] | G['length']
  ? unknown
  : true extends { readonly [K in keyof G]: MayExceed<G[K]['grid'], S> }[number]
    ? E extends Entries
      ? GridsIn<E, O, FlatExtents<L, S>, G>
      : unknown
    : unknown

type ClearlyEnough = 32
type MayExceed<G extends PlanFileSegment['grid'], S extends Shape> = [
  Lte<G['B'], S[0] & number>,
  G['H'] extends 1 ? true : Lte<Mul<ClearlyEnough, G['H']>, S[2] & number>,
  G['W'] extends 1 ? true : Lte<Mul<ClearlyEnough, G['W']>, S[3] & number>
] extends [true, true, true]
  ? false
  : true

type GridsIn<E extends Entries, O extends readonly number[], X extends readonly unknown[], G extends Segments> = {
  readonly [K in keyof G]: MoreTiles<E, O, X, G[K]> extends infer Sentence extends string
    ? { readonly grid: Invalid<`${ShowSegment<G[K]>}: ${Sentence}`> }
    : unknown
}

type MoreTiles<E extends Entries, O extends readonly number[], X extends readonly unknown[], G extends PlanFileSegment> =
  LastOf<G['to'], E> extends infer Last extends Entry
    ? EndOf<G['to'], O, X> extends infer Y extends Shape
      ? MoreAlong<G['grid']['B'], 'B', Y[0], 'images', Last> extends infer Sentence extends string
        ? Sentence
        : MoreAlong<G['grid']['H'], 'H', Y[2], 'rows', Last> extends infer Sentence extends string
          ? Sentence
          : MoreAlong<G['grid']['W'], 'W', Y[3], 'columns', Last>
      : undefined
    : undefined
type LastOf<To extends number, E extends Entries> = (readonly [unknown, ...E])[To]
/** After a pool that runs before its rectifier there is what comes out of both. */
type EndOf<To extends number, O extends readonly number[], X extends readonly unknown[]> = (readonly [unknown, ...O])[To] extends To
  ? X[To]
  : (readonly [unknown, ...X])[To]

type MoreAlong<N extends number, D extends string, Extent, Unit extends string, Last extends Entry> = Extent extends number
  ? Lte<N, Extent> extends true
    ? undefined
    : `${N} tiles along ${D} are more than the ${Extent} ${Unit} of the ${SegmentOpOfText<Last[1], Last[2]> extends Summing ? 'input' : 'output'} of ${Last[0]}; take at most ${Extent}`
  : undefined
