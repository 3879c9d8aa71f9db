import type { Add, Lte, Whole } from './arithmetic'
import type { Op } from './arguments'
import type { Entries, Entry, Flat, Known, WithLoss } from './flat-types'
import type { Model } from './model'
import type { Plan, PlanHostStay, PlanSegment } from './plan'
import type { Images } from './rules'
import type { Dim, InsideDims, LastDims, Normalisation, ShowDims, StatisticsOf } from './segment'
import type { Shape, ShowShape } from './shape'
import type { Bad } from './tensor'

/**
 * What a plan must be besides P to fit the model M: anything, and Bad at the field that is wrong. What plan-rules.ts does at run
 * time, with the same sentences; where a type is wider than one value, only run time knows.
 */
export type Right<M extends Model, P extends Plan> =
  Known<WithLoss<Flat<M['layers']>>> extends infer E
    ? E extends Entries
      ? RightLayers<E, P['layers']> extends infer L
        ? unknown extends L
          ? RightDecisions<E, M, P> & RightResidence<E, P>
          : { readonly layers: L }
        : never
      : RightFigures<M, P>
    : never

type Segments = readonly PlanSegment[]

interface RightFigures<M extends Model, P extends Plan> {
  readonly input: RightInput<P['input'], Exclude<M['input'], undefined>>
  readonly peak: RightPeak<P['peak'], P['budget']>
}

interface RightDecisions<E extends Entries, M extends Model, P extends Plan> extends RightFigures<M, P> {
  readonly order: RightOrder<E, P['order']>
  readonly segments: unknown extends RightOrder<E, P['order']> ? RightSegments<InOrder<E, P['order']>, P['segments']> : unknown
}

type MaxPools<E extends Entries> = Extract<E[number], readonly [unknown, 'maxPool2d', ...unknown[]]>[0]

/** Why tensors cannot wait on the host, as far as names tell. */
type RightResidence<E extends Entries, P extends Plan> = P extends { readonly residence: infer R extends readonly PlanHostStay[] }
  ? { readonly residence: RightStays<E[number][0], MaxPools<E>, R> }
  : unknown
type RightStays<Names extends string, Pools extends string, R extends readonly PlanHostStay[]> = {
  readonly [K in keyof R]: {
    readonly tensor: Named<R[K]['tensor'], `${'input' | 'output'} of ${Names}` | `winners of ${Pools}`, 'tensor'>
    readonly swapOut: Named<R[K]['swapOut'], Moments<Names>, 'moment'>
    readonly freed: Named<R[K]['freed'], Moments<Names>, 'moment'>
    readonly swapIn: Named<R[K]['swapIn'], Moments<Names>, 'moment'>
  }
}
type Moments<Names extends string> = `${'forward' | 'backward'} ${Names}`
type Named<Name extends string, Known extends string, What extends string> = string extends Name
  ? unknown
  : Name extends Known
    ? unknown
    : Bad<`residence: there is no ${What} ${Name}`>

type RightInput<S extends Shape, Own extends Shape> =
  Images<S> extends infer Y
    ? Y extends Bad<string>
      ? Y
      : [S] extends [Own]
        ? unknown
        : number extends S['length'] | S[number]
          ? unknown
          : Bad<`input: the model takes ${ShowShape<Own>}, the plan is for ${ShowShape<S>}`>
    : never

type RightPeak<Peak extends number, Budget extends number | null> = [Budget] extends [number]
  ? Lte<Peak, Budget> extends true
    ? unknown
    : Bad<`the peak of ${Peak} bytes is over the budget of ${Budget}`>
  : unknown

type Places<L extends readonly unknown[]> = { readonly [K in keyof L]: unknown }

type Texts<E extends Entries> = { readonly [K in keyof E]: E[K][2] }
type RightLayers<E extends Entries, L extends readonly string[]> =
  L extends Texts<E> ? unknown : number extends L['length'] ? unknown : FirstOther<E, L, E['length'], L['length']>

type FirstOther<
  E extends Entries,
  L extends readonly string[],
  Ours extends number,
  Theirs extends number,
  Passed extends readonly unknown[] = readonly []
> = E extends readonly [infer X extends Entry, ...infer RestE extends Entries]
  ? L extends readonly [infer T extends string, ...infer RestL extends readonly string[]]
    ? string extends T
      ? unknown
      : T extends X[2]
        ? FirstOther<RestE, RestL, Ours, Theirs, readonly [...Passed, unknown]>
        : readonly [...Passed, Bad<`layer ${Passed['length'] & number}: the model has ${X[2]} (${X[0]}), the plan ${T}`>, ...Places<RestL>]
    : Bad<`layers: the model has ${Ours}, its loss included, the plan ${Theirs}`>
  : Bad<`layers: the model has ${Ours}, its loss included, the plan ${Theirs}`>

type RightOrder<E extends Entries, O extends readonly number[]> = number extends O['length']
  ? unknown
  : O['length'] extends E['length']
    ? O extends Written<E>
      ? unknown
      : Misplaced<E, O, Written<E>, Following<E>> extends infer Places
        ? [Places] extends [never]
          ? unknown
          : OrderFrom<E, O>
        : never
    : Bad<`order: the model has ${E['length']} layers, its loss included, the order ${O['length']}`>

/** [0, 1, 2, ...] and [1, 2, 3, ...], as long as E. */
type Written<E> = { readonly [K in keyof E]: K extends `${infer Place extends number}` ? Place : never }
type Following<E extends readonly unknown[]> = readonly [...E, unknown] extends infer Longer
  ? Written<Longer> extends readonly [0, ...infer Later]
    ? Later
    : never
  : never

/** Positions that neither stand as written nor in a pool's exchange with the rectifier before it. */
type Misplaced<E extends Entries, O extends readonly number[], W extends readonly unknown[], F extends readonly unknown[]> = {
  [K in keyof W]: O[K & keyof O] extends infer A extends number
    ? number extends A
      ? never
      : A extends W[K]
        ? never
        : [A, O[A]] extends [F[K & keyof F], W[K]]
          ? Exchangeable<E[K & keyof E], E[A], K>
          : [W[K], O[A]] extends [F[A], W[K]]
            ? Exchangeable<E[A], E[K & keyof E], K>
            : K
    : K
}[number]
/** A pool that starts a branch is not the only one that reads its input. */
type Exchangeable<First, Second, K> = First extends readonly [unknown, 'relu' | 'leakyRelu', ...unknown[]]
  ? Second extends readonly [unknown, 'maxPool2d', unknown]
    ? never
    : K
  : K

/** The sentence at the first position that is wrong. */
type OrderFrom<E extends Entries, O extends readonly number[], Done extends readonly unknown[] = readonly []> = O extends readonly [
  infer A extends number,
  ...infer Rest extends readonly number[]
]
  ? number extends A
    ? unknown
    : A extends Done['length']
      ? OrderFrom<E, Rest, readonly [...Done, unknown]>
      : Exchanged<E, Done['length'] & number, [...Done, unknown]['length'], A, Rest> extends readonly [
            unknown,
            ...infer Later extends readonly number[]
          ]
        ? OrderFrom<E, Later, readonly [...Done, unknown, unknown]>
        : readonly [
            ...Done,
            Bad<`order: ${A} cannot run at position ${Done['length'] & number}; only a max pool may run before the rectifier that it follows`>,
            ...Places<Rest>
          ]
  : unknown

/** The rest of the order where A and what follows it are the rectifier at `First` and the pool at `Second`, exchanged. */
type Exchanged<E extends Entries, First extends number, Second, A, Rest extends readonly number[]> = [A, Rest[0]] extends [Second, First]
  ? Exchangeable<E[First], E[A & number], 'not'> extends never
    ? Rest
    : undefined
  : undefined

type InOrder<E extends Entries, O extends readonly number[]> = O extends Written<E> ? E : { readonly [K in keyof O]: E[O[K]] }

type RightSegments<E, S extends Segments> = number extends S['length']
  ? unknown
  : E extends Entries
    ? S extends readonly []
      ? Bad<EndsEarly<0, E['length']>>
      : SegmentsFrom<S, E, Following<E>>
    : unknown

/** F: the position after each of E. */
type SegmentsFrom<
  S extends Segments,
  E extends Entries,
  F extends readonly unknown[],
  At extends number = 0,
  Passed extends readonly unknown[] = readonly []
> = S extends readonly [infer G extends PlanSegment, ...infer Rest extends Segments]
  ? number extends G['from'] | G['to']
    ? unknown
    : SegmentMistake<G, At, Rest, E, F> extends infer Y
      ? unknown extends Y
        ? SegmentsFrom<Rest, E, F, G['to'], readonly [...Passed, unknown]>
        : readonly [...Passed, Y, ...Places<Rest>]
      : never
  : unknown

type ShowSegment<G extends PlanSegment> = `segment ${G['from']}..${G['to']}`
type EndsEarly<To extends number, End extends number> = `the segments end at ${To}, but the model has ${End} layers, its loss included`

type SegmentMistake<
  G extends PlanSegment,
  At extends number,
  After extends Segments,
  E extends Entries,
  F extends readonly unknown[]
> = G['from'] extends At
  ? [G['to'] extends F[number] ? true : false, Lte<G['to'], G['from']>] extends [true, false]
    ? [After['length'], G['to']] extends [0, Exclude<G['to'], E['length']>]
      ? { readonly to: Bad<EndsEarly<G['to'], E['length']>> }
      : GridMistake<G, After, E, F> extends infer Y
        ? unknown extends Y
          ? RepeatMistake<G, After, E, F>
          : Y
        : never
    : { readonly to: Bad<`${ShowSegment<G>}: it must end after ${G['from']} and at ${E['length']} at the latest`> }
  : {
      readonly from: Bad<
        At extends 0
          ? `the first segment must start at 0, not at ${G['from']}`
          : `segments must follow each other: this one starts at ${G['from']}, the one before ends at ${At}`
      >
    }

/** Dimensions of more than one tile; asking for C is refused by name. */
type Tiled<G> = { [D in keyof G]: G[D] extends 1 ? never : number extends G[D] ? never : D }[keyof G] & (Dim | 'C')

type GridMistake<G extends PlanSegment, After extends Segments, E extends Entries, F extends readonly unknown[]> =
  Whole<`${G['grid']['B']} ${G['grid']['H']} ${G['grid']['W']}`> extends true
    ? [Tiled<G['grid']>] extends [never]
      ? CheckpointMistake<G, E, F>
      : TiledMistake<E, F, G['from'], G['to'], Tiled<G['grid']>> extends infer Sentence
        ? Sentence extends string
          ? { readonly grid: Bad<`${ShowSegment<G>}: ${Sentence}`> }
          : [After, G['recompute']] extends [readonly [unknown, ...unknown[]], false]
            ? { readonly recompute: Bad<`${ShowSegment<G>}: what is tiled is recomputed in backward; recompute must be true`> }
            : CheckpointMistake<G, E, F>
        : never
    : { readonly grid: Bad<`${ShowSegment<G>}: tile counts must be whole numbers above 0`> }

/** Why the ops from position K up to To cannot be tiled along D together. */
type TiledMistake<E extends Entries, F extends readonly unknown[], From extends number, To, D extends string, K = From> = E[K &
  number] extends infer X extends Entry
  ? [D] extends [LastDims<X[1]>]
    ? StatisticsMistake<X, From, K & number, D> extends infer Sentence
      ? Sentence extends string
        ? Sentence
        : F[K & number] extends To
          ? undefined
          : [D] extends [InsideDims<X[1]>]
            ? TiledMistake<E, F, From, To, D, F[K & number]>
            : `cannot tile along ${ShowDims<Exclude<D, InsideDims<X[1]>>>}; ${X[1]} sums over the pixels, so it must be the segment's last op`
      : never
    : `cannot tile along ${ShowDims<Exclude<D, LastDims<X[1]>>>}; ${X[1]} allows ${ShowDims<LastDims<X[1]>>}`
  : undefined

/** Of the op at position K where it needs statistics along D of what its own segment makes, or of the net's input. */
type StatisticsMistake<X extends Entry, From extends number, K extends number, D extends string> = X[1] extends Normalisation
  ? [D & StatisticsOf<X[1], X[2] extends `${string} frozen` ? { readonly frozen: true } : {}>, BackOf<X>] extends [
      infer Needed extends string,
      infer Back extends number
    ]
    ? [Needed] extends [never]
      ? undefined
      : K extends Back
        ? `${Untileable<X, Needed>} input, so a segment must end after it`
        : Lte<K, Add<From, Back>> extends true
          ? undefined
          : `${Untileable<X, Needed>} tensor before it, so a segment must end before it`
    : never
  : undefined
type BackOf<X extends Entry> = X extends readonly [...unknown[], infer Back extends number] ? Back : 0
type Untileable<X extends Entry, D extends string> = `cannot tile along ${ShowDims<D>}; ${X[1]} needs the statistics of the whole`

type CheckpointMistake<G extends PlanSegment, E extends Entries, F extends readonly unknown[]> = string extends G['checkpoint']
  ? LoadMistake<G, E, F>
  : NameBefore<G['to'], E> extends infer Last extends string
    ? G['checkpoint'] extends Last
      ? LoadMistake<G, E, F>
      : G['checkpoint'] extends E[number][0]
        ? { readonly checkpoint: Bad<`${ShowSegment<G>}: its last layer is ${Last}, not ${G['checkpoint']}`> }
        : { readonly checkpoint: Bad<`${ShowSegment<G>}: there is no layer ${G['checkpoint']}; its last one is ${Last}`> }
    : never
/** Name of the layer after which position To comes. */
type NameBefore<To extends number, E extends Entries> = (readonly [unknown, ...E])[To] extends readonly [infer Name, ...unknown[]]
  ? Name
  : never

/** Why a segment has nothing to load ahead of. */
type LoadMistake<G extends PlanSegment, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly loadsAhead: true
  readonly grid: Untiled
}
  ? { readonly loadsAhead: Bad<`${ShowSegment<G>}: loadsAhead: only a segment in tiles loads ahead`> }
  : WinogradMistake<G, E, F>
interface Untiled {
  readonly B: 1
  readonly H: 1
  readonly W: 1
}

/** Why a segment cannot run these of its layers by Winograd, at the names that are wrong. */
type WinogradMistake<G extends PlanSegment, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly winograd: infer W extends readonly [string, ...string[]]
}
  ? LayersWithin<E, F, 'conv2d', G['from'], G['to']> extends infer Names extends string
    ? W extends readonly Names[]
      ? unknown
      : { readonly winograd: { readonly [K in keyof W]: W[K] extends Names ? unknown : Unfit<G, W[K], E> } }
    : never
  : unknown

/** Names of the layers of these ops from position K up to To. */
type LayersWithin<E extends Entries, F extends readonly unknown[], O, K, To, Names = never> = K extends To
  ? Names
  : LayersWithin<E, F, O, F[K & number], To, E[K & number][1] extends O ? Names | E[K & number][0] : Names>

type Unfit<G extends PlanSegment, Name extends string, E extends Entries> = string extends Name
  ? unknown
  : Name extends E[number][0]
    ? Extract<E[number], readonly [Name, ...unknown[]]>[1] extends infer N extends Op
      ? N extends 'conv2d'
        ? Outside<G, Name, E, 'winograd'>
        : Bad<`${ShowSegment<G>}: winograd: ${Name} is no convolution but ${N}`>
      : never
    : Outside<G, Name, E, 'winograd'>
/** Why a segment has no layer of this name. */
type Outside<G extends PlanSegment, Name extends string, E extends Entries, Field extends string> = string extends Name
  ? unknown
  : Name extends E[number][0]
    ? Bad<`${ShowSegment<G>}: ${Field}: ${Name} is not in this segment`>
    : Bad<`${ShowSegment<G>}: ${Field}: there is no layer ${Name}`>

/** Why a segment cannot run forward again before the backward of the one that follows. */
type RepeatMistake<G extends PlanSegment, After extends Segments, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly repeats: true
}
  ? IsBeforeLast<After> extends true
    ? G['recompute'] extends false
      ? { readonly recompute: Bad<`${ShowSegment<G>}: repeats: what runs forward again keeps nothing; recompute must be true`> }
      : StreamMistake<G, E, F>
    : {
        readonly repeats: Bad<`${ShowSegment<G>}: repeats: the last segment runs backward right after forward, so what leads up to it is still there`>
      }
  : StreamMistake<G, E, F>
/** Whether a segment that does not repeat, and is not the last, follows. */
type IsBeforeLast<After> = After extends readonly [infer Next, ...infer Rest]
  ? Next extends { readonly repeats: true }
    ? IsBeforeLast<Rest>
    : Rest extends readonly []
      ? false
      : true
  : After extends readonly []
    ? false
    : true

/** Why outputs of these of a segment's layers cannot leave it for the host in bands of rows, at the names that are wrong. */
type StreamMistake<G extends PlanSegment, E extends Entries, F extends readonly unknown[]> = G extends {
  readonly streams: infer W extends readonly [string, ...string[]]
}
  ? LayersWithin<E, F, Op, G['from'], G['to']> extends infer Names extends string
    ? { readonly streams: { readonly [K in keyof W]: W[K] extends Names ? InBands<G, W[K]> : Outside<G, W[K], E, 'streams'> } }
    : never
  : unknown
type InBands<G extends PlanSegment, Name extends string> = [Tiled<G['grid']> & ('B' | 'W')] extends [never]
  ? unknown
  : Bad<`${ShowSegment<G>}: streams: the output of ${Name} passes segment ${G['from']}..${G['to']} in bands of rows, so its grid must be 1x${G['grid']['H']}x1 instead of ${G['grid']['B']}x${G['grid']['H']}x${G['grid']['W']}`>
