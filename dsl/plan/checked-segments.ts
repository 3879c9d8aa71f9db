import type { Add, Lte, AreWholePositive } from '../shapes/arithmetic'
import type { Entries, Entry } from '../flat/entries'
import type { PlanGrid, PlanShards } from './plan'
import type { PlanFileSegment } from './plan-file'
import type { EarlierSegmentFields } from './earlier-names'
import type { Following } from './checked-order'
import type { OnLoadError } from './checked-on-load'
import type { SlicesError } from './checked-slices'
import type { WinogradError } from './checked-winograd'
import type { NameBefore, NamesWithin, NotInSegment, ShowSegment } from './segment-names'
import type { Unchecked, UnknownFields } from './sentences'
import type { Dim, InsideDims, LastDims, NormalisationOp, SegmentOpOfText, ShowDims, StatisticsDims } from '../shapes/segment'
import type { Invalid } from '../typing/tensor'

type Segments = readonly PlanFileSegment[]

/**
 * Gives one sentence on why segments do not cover the layers, which stand in the order in which
 * they run, or are not exact, if that is so.
 */
export type CheckedSegments<E, S extends Segments> = number extends S['length']
  ? unknown
  : E extends Entries
    ? S extends readonly []
      ? Invalid<EndsEarly<0, E['length']>>
      : SegmentsFrom<S, E, Following<E>>
    : unknown

/** F: the position after each of E. */
type SegmentsFrom<
  S extends Segments,
  E extends Entries,
  F extends readonly unknown[],
  At extends number = 0,
  Passed extends readonly unknown[] = readonly []
> = S extends readonly [infer G extends PlanFileSegment, ...infer Rest extends Segments]
  ? number extends G['from'] | G['to']
    ? unknown
    : FieldError<G, At, Rest, E, F> extends infer Y
      ? unknown extends Y
        ? SegmentsFrom<Rest, E, F, G['to'], readonly [...Passed, unknown]>
        : readonly [...Passed, Y, ...Unchecked<Rest>]
      : never
  : unknown

/** Fields that a segment does not have. */
type FieldError<G extends PlanFileSegment, At extends number, After extends Segments, E extends Entries, F extends readonly unknown[]> = [
  keyof G
] extends [keyof PlanFileSegment | keyof EarlierSegmentFields]
  ? [keyof G['grid']] extends [keyof PlanGrid | 'C']
    ? SegmentError<G, At, After, E, F>
    : { readonly grid: UnknownFields<G['grid'], PlanGrid, 'a grid has no dimension'> }
  : UnknownFields<Omit<G, keyof EarlierSegmentFields>, PlanFileSegment, 'a segment has no field'>

type EndsEarly<To extends number, End extends number> = `the segments end at ${To}, but the model has ${End} layers, its loss included`

type SegmentError<
  G extends PlanFileSegment,
  At extends number,
  After extends Segments,
  E extends Entries,
  F extends readonly unknown[]
> = G['from'] extends At
  ? [G['to'] extends F[number] ? true : false, Lte<G['to'], G['from']>] extends [true, false]
    ? [After['length'], G['to']] extends [0, Exclude<G['to'], E['length']>]
      ? { readonly to: Invalid<EndsEarly<G['to'], E['length']>> }
      : GridError<G, After, E, F> extends infer Y
        ? unknown extends Y
          ? RematerializeError<G, After, E, F>
          : Y
        : never
    : { readonly to: Invalid<`${ShowSegment<G>}: it must end after ${G['from']} and at ${E['length']} at the latest`> }
  : {
      readonly from: Invalid<
        At extends 0
          ? `the first segment must start at 0, not at ${G['from']}`
          : `segments must follow each other: this one starts at ${G['from']}, the one before ends at ${At}`
      >
    }

/** Dimensions of more than one tile; asking for C is refused by name. */
export type Tiled<G> = { [D in keyof G]: G[D] extends 1 ? never : number extends G[D] ? never : D }[keyof G] & (Dim | 'C')

type GridError<G extends PlanFileSegment, After extends Segments, E extends Entries, F extends readonly unknown[]> =
  AreWholePositive<`${G['grid']['B']} ${G['grid']['H']} ${G['grid']['W']}`> extends true
    ? [Tiled<G['grid']>] extends [never]
      ? ShardsError<G, E, F>
      : TiledError<E, F, G['from'], G['to'], Tiled<G['grid']>> extends infer Sentence
        ? Sentence extends string
          ? { readonly grid: Invalid<`${ShowSegment<G>}: ${Sentence}`> }
          : [After, G['recompute']] extends [readonly [unknown, ...unknown[]], false]
            ? { readonly recompute: Invalid<`${ShowSegment<G>}: what is tiled is recomputed in backward; recompute must be true`> }
            : ShardsError<G, E, F>
        : never
    : { readonly grid: Invalid<`${ShowSegment<G>}: tile counts must be whole numbers above 0`> }

/** Gives one sentence on why ranks cannot share a segment so, if that is so. */
type ShardsError<G extends PlanFileSegment, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly shards: infer N extends PlanShards
}
  ? [keyof N] extends [keyof PlanShards]
    ? AreWholePositive<`${N['B']} ${N['H']}`> extends true
      ? [Tiled<N>] extends [never]
        ? CheckpointError<G, E, F>
        : TiledError<E, F, G['from'], G['to'], Tiled<N>, 'shard'> extends infer Sentence
          ? Sentence extends string
            ? { readonly shards: Invalid<`${ShowSegment<G>}: ${Sentence}`> }
            : CheckpointError<G, E, F>
          : never
      : { readonly shards: Invalid<`${ShowSegment<G>}: shards must be whole numbers above 0`> }
    : { readonly shards: UnknownFields<N, PlanShards, 'shards have no dimension'> }
  : CheckpointError<G, E, F>

/**
 * Gives one sentence on why the ops from position K up to To cannot be tiled along D together, or
 * shared by ranks, if that is so.
 */
type TiledError<
  E extends Entries,
  F extends readonly unknown[],
  From extends number,
  To,
  D extends string,
  Verb extends 'tile' | 'shard' = 'tile',
  K = From
> = E[K & number] extends infer X extends Entry
  ? [D] extends [LastDims<X[1]>]
    ? StatisticsError<X, From, K & number, D, Verb> extends infer Sentence
      ? Sentence extends string
        ? Sentence
        : F[K & number] extends To
          ? undefined
          : [D] extends [InsideDims<SegmentOpOfText<X[1], X[2]>>]
            ? TiledError<E, F, From, To, D, Verb, F[K & number]>
            : ReadsTheOneBefore<E[F[K & number] & number]> extends true
              ? `cannot ${Verb} along ${ShowDims<Exclude<D, InsideDims<SegmentOpOfText<X[1], X[2]>>>>}; ${SegmentOpOfText<X[1], X[2]>} sums over the pixels, so it must be the segment's last op`
              : TiledError<E, F, From, To, D, Verb, F[K & number]>
      : never
    : `cannot ${Verb} along ${ShowDims<Exclude<D, LastDims<X[1]>>>}; ${X[1]} allows ${ShowDims<LastDims<X[1]>>}`
  : undefined

/**
 * False of an op that starts a further branch: a join reads the end of the branch before it, in
 * this segment or not, which run time says.
 */
type ReadsTheOneBefore<X> = X extends readonly [unknown, unknown, unknown, infer Back] ? (Back extends 0 ? true : false) : true

/**
 * Of the op at position K where it needs statistics along D of what its own segment makes, or of
 * the net's input.
 */
type StatisticsError<
  X extends Entry,
  From extends number,
  K extends number,
  D extends string,
  Verb extends string
> = X[1] extends NormalisationOp
  ? [CutStatistics<StatisticsDims<X[1], X[2] extends `${string} frozen` ? { readonly frozen: true } : {}>, D, Verb>, BackOf<X>] extends [
      infer Needed extends string,
      infer Back extends number
    ]
    ? [Needed] extends [never]
      ? undefined
      : K extends Back
        ? `${Untileable<X, Needed, Verb>} input, so a segment must end after it`
        : Lte<K, Add<From, Back>> extends true
          ? undefined
          : `${Untileable<X, Needed, Verb>} tensor before it, so a segment must end before it`
    : never
  : undefined
/** Inside what ranks share none are taken, of single images neither: segments end before. */
type CutStatistics<Needed, D extends string, Verb extends string> = Verb extends 'shard'
  ? [Needed] extends [never]
    ? never
    : D
  : D & Needed
type BackOf<X extends Entry> = X extends readonly [...unknown[], infer Back extends number] ? Back : 0
type Untileable<
  X extends Entry,
  D extends string,
  Verb extends string
> = `cannot ${Verb} along ${ShowDims<D>}; ${X[1]} needs the statistics of the whole`

type CheckpointError<G extends PlanFileSegment, E extends Entries, F extends readonly unknown[]> = string extends G['checkpoint']
  ? PrefetchError<G, E, F>
  : NameBefore<G['to'], E> extends infer Last extends string
    ? G['checkpoint'] extends Last
      ? PrefetchError<G, E, F>
      : G['checkpoint'] extends E[number][0]
        ? { readonly checkpoint: Invalid<`${ShowSegment<G>}: its last layer is ${Last}, not ${G['checkpoint']}`> }
        : { readonly checkpoint: Invalid<`${ShowSegment<G>}: there is no layer ${G['checkpoint']}; its last one is ${Last}`> }
    : never
/** Gives one sentence on why a segment has nothing to prefetch, if that is so. */
type PrefetchError<G extends PlanFileSegment, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly prefetch: true
  readonly grid: Untiled
}
  ? { readonly prefetch: Invalid<`${ShowSegment<G>}: prefetch: only a segment in tiles can prefetch`> }
  : WinogradError<G, E, F> extends infer Y
    ? unknown extends Y
      ? SlicesOrOnLoadError<G, E, F>
      : Y
    : never
/** The grid of a segment that is not tiled. */
interface Untiled {
  readonly B: 1
  readonly H: 1
  readonly W: 1
}

/** Names are looked for only where there are any. */
type SlicesOrOnLoadError<G extends PlanFileSegment, E extends Entries, F extends readonly unknown[]> =
  SlicesError<G, ShowSegment<G>> extends infer Y
    ? unknown extends Y
      ? G extends { readonly normaliseOnLoad: readonly [string, ...string[]] }
        ? OnLoadError<G, ShowSegment<G>, E, NamesWithin<E, F, G['from'], G['to']> & string>
        : unknown
      : Y
    : never

/**
 * Gives one sentence on why a segment cannot run forward again before the backward of the one that
 * follows, if that is so.
 */
type RematerializeError<G extends PlanFileSegment, After extends Segments, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly rematerialize: true
}
  ? IsBeforeLast<After> extends true
    ? G['recompute'] extends false
      ? { readonly recompute: Invalid<`${ShowSegment<G>}: rematerialize: what runs forward again saves nothing; recompute must be true`> }
      : HostTensorError<G, E, F>
    : {
        readonly rematerialize: Invalid<`${ShowSegment<G>}: rematerialize: the last segment runs backward right after forward, so what leads up to it is still there`>
      }
  : HostTensorError<G, E, F>
/** Tells whether a segment that is not rematerialized, and is not the last, follows. */
type IsBeforeLast<After> = After extends readonly [infer Next, ...infer Rest]
  ? Next extends { readonly rematerialize: true }
    ? IsBeforeLast<Rest>
    : Rest extends readonly []
      ? false
      : true
  : After extends readonly []
    ? false
    : true

/**
 * Gives one sentence on why outputs of these of a segment's layers cannot leave it for the host in
 * bands of rows, at the names that are wrong, if that is so.
 */
type HostTensorError<G extends PlanFileSegment, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly hostTensors: infer W extends readonly [string, ...string[]]
}
  ? NamesWithin<E, F, G['from'], G['to']> extends infer Names extends string
    ? {
        readonly hostTensors: {
          readonly [K in keyof W]: W[K] extends Names ? CheckedHostRows<G, W[K]> : NotInSegment<G, W[K], E, 'hostTensors'>
        }
      }
    : never
  : unknown
type CheckedHostRows<G extends PlanFileSegment, Name extends string> = [Tiled<G['grid']> & ('B' | 'W')] extends [never]
  ? unknown
  : Invalid<`${ShowSegment<G>}: hostTensors: the output of ${Name} passes segment ${G['from']}..${G['to']} in bands of rows, so its grid must be 1x${G['grid']['H']}x1 instead of ${G['grid']['B']}x${G['grid']['H']}x${G['grid']['W']}`>
