import type { Lte, Whole } from './arithmetic'
import type { AnyLayer, Arguments, Layers, Mark, Op } from './arguments'
import type { LayerText } from './layer-text'
import type { Model } from './model'
import type { Plan, PlanSegment } from './plan'
import type { Images } from './rules'
import type { Dim, InsideDims, LastDims, ShowDims } from './segment'
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
          ? RightDecisions<E, M, P>
          : { readonly layers: L }
        : never
      : RightFigures<M, P>
    : never

/** One op of the flattened model. */
interface Entry {
  readonly name: string
  readonly op: Op
  readonly text: string
}
type Entries = readonly Entry[]
type Segments = readonly PlanSegment[]

/** What flatLayers makes of a list, marks left out; marks take no place. */
type Flat<
  L extends Layers,
  Prefix extends string = '',
  Places extends readonly unknown[] = readonly [],
  Out extends readonly unknown[] = readonly []
> = L extends readonly [infer First extends AnyLayer, ...infer Rest extends Layers]
  ? First['op'] extends Mark
    ? Flat<Rest, Prefix, Places, Out>
    : Flat<
        Rest,
        Prefix,
        readonly [...Places, unknown],
        readonly [...Out, ...Expanded<First, `${Prefix}${NameOf<First, `${Places['length']}`>}`>]
      >
  : number extends L['length']
    ? Entries
    : Out

type NameOf<L extends AnyLayer, Place extends string> = L['args'] extends { readonly name: infer Name extends string } ? Name : Place

type Expanded<L extends AnyLayer, Name extends string> = keyof Arguments extends L['op']
  ? Entries
  : L['op'] extends Op
    ? readonly [{ readonly name: Name; readonly op: L['op']; readonly text: LayerText<L['op'], L['args']> }]
    : L['args'] extends { readonly layer: infer Inner extends AnyLayer }
      ? Expanded<Inner, Name>
      : L['args'] extends { readonly layers: infer Inner extends Layers }
        ? Flat<Inner, `${Name}.`>
        : readonly []

type Losses = 'softmaxCrossEntropy' | 'meanSquaredError'
interface AppendedLoss {
  readonly name: 'loss'
  readonly op: 'softmaxCrossEntropy'
  readonly text: 'softmaxCrossEntropy'
}
type WithLoss<E> = E extends readonly [...unknown[], infer Last extends Entry]
  ? Last['op'] extends Losses
    ? E
    : readonly [...E, AppendedLoss]
  : E

/** E where it is one list of known length, else nothing. */
type Known<E> = IsUnion<E> extends true ? undefined : E extends Entries ? (number extends E['length'] ? undefined : E) : undefined
type IsUnion<T, One = T> = T extends unknown ? ([One] extends [T] ? false : true) : never

interface RightFigures<M extends Model, P extends Plan> {
  readonly input: RightInput<P['input'], Exclude<M['input'], undefined>>
  readonly peak: RightPeak<P['peak'], P['budget']>
}

interface RightDecisions<E extends Entries, M extends Model, P extends Plan> extends RightFigures<M, P> {
  readonly order: RightOrder<E, P['order']>
  readonly segments: unknown extends RightOrder<E, P['order']> ? RightSegments<InOrder<E, P['order']>, P['segments']> : unknown
}

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

type Texts<E extends Entries> = { readonly [K in keyof E]: E[K]['text'] }
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
      : T extends X['text']
        ? FirstOther<RestE, RestL, Ours, Theirs, readonly [...Passed, unknown]>
        : readonly [
            ...Passed,
            Bad<`layer ${Passed['length'] & number}: the model has ${X['text']} (${X['name']}), the plan ${T}`>,
            ...Places<RestL>
          ]
    : Bad<`layers: the model has ${Ours}, its loss included, the plan ${Theirs}`>
  : Bad<`layers: the model has ${Ours}, its loss included, the plan ${Theirs}`>

type RightOrder<E extends Entries, O extends readonly number[]> = number extends O['length']
  ? unknown
  : O['length'] extends E['length']
    ? OrderFrom<E, O>
    : Bad<`order: the model has ${E['length']} layers, its loss included, the order ${O['length']}`>

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
  ? [E[First]['op'], E[A & number]['op']] extends ['relu' | 'leakyRelu', 'maxPool2d']
    ? Rest
    : undefined
  : undefined

type InOrder<E extends Entries, O extends readonly number[]> = { readonly [K in keyof O]: E[O[K]] }

type RightSegments<E extends readonly unknown[], S extends Segments> = number extends E['length'] | S['length']
  ? unknown
  : S extends readonly []
    ? Bad<EndsEarly<0, E['length']>>
    : E extends Entries
      ? SegmentsFrom<E, S, E['length'], E[number]['name']>
      : unknown

type SegmentsFrom<
  E extends Entries,
  S extends Segments,
  End extends number,
  Names extends string,
  At extends readonly unknown[] = readonly [],
  Passed extends readonly unknown[] = readonly []
> = S extends readonly [infer G extends PlanSegment, ...infer Rest extends Segments]
  ? number extends G['from'] | G['to']
    ? unknown
    : G['from'] extends At['length']
      ? Take<E, At, G['to']> extends infer T
        ? T extends readonly [infer Taken extends Entries, infer Left extends Entries, infer Reached extends readonly unknown[]]
          ? SegmentMistake<G, Taken, Rest, End, Names> extends infer Y
            ? unknown extends Y
              ? SegmentsFrom<Left, Rest, End, Names, Reached, readonly [...Passed, unknown]>
              : readonly [...Passed, Y, ...Places<Rest>]
            : never
          : readonly [
              ...Passed,
              { readonly to: Bad<`${ShowSegment<G>}: it must end after ${G['from']} and at ${End} at the latest`> },
              ...Places<Rest>
            ]
        : never
      : readonly [
          ...Passed,
          {
            readonly from: Bad<
              Passed extends readonly []
                ? `the first segment must start at 0, not at ${G['from']}`
                : `segments must follow each other: this one starts at ${G['from']}, the one before ends at ${At['length'] & number}`
            >
          },
          ...Places<Rest>
        ]
  : unknown

type ShowSegment<G extends PlanSegment> = `segment ${G['from']}..${G['to']}`
type EndsEarly<To extends number, End extends number> = `the segments end at ${To}, but the model has ${End} layers, its loss included`

/** The entries up to position To, what is left after them, and a tuple as long as To; undefined where To is not ahead. */
type Take<E extends Entries, At extends readonly unknown[], To extends number, Taken extends Entries = readonly []> = E extends readonly [
  infer First extends Entry,
  ...infer Left extends Entries
]
  ? readonly [...At, unknown] extends infer Reached extends readonly unknown[]
    ? Reached['length'] extends To
      ? readonly [readonly [...Taken, First], Left, Reached]
      : Take<Left, Reached, To, readonly [...Taken, First]>
    : never
  : undefined

type SegmentMistake<
  G extends PlanSegment,
  Taken extends Entries,
  After extends Segments,
  End extends number,
  Names extends string
> = After extends readonly []
  ? G['to'] extends End
    ? GridMistake<G, Taken, true, Names>
    : { readonly to: Bad<EndsEarly<G['to'], End>> }
  : GridMistake<G, Taken, false, Names>

/** Dimensions of more than one tile; asking for C is refused by name. */
type Tiled<G> = { [D in keyof G]: G[D] extends 1 ? never : number extends G[D] ? never : D }[keyof G] & (Dim | 'C')

type GridMistake<G extends PlanSegment, Taken extends Entries, IsLast extends boolean, Names extends string> =
  Whole<`${G['grid']['B']} ${G['grid']['H']} ${G['grid']['W']}`> extends true
    ? [Tiled<G['grid']>] extends [never]
      ? CheckpointMistake<G, Taken, Names>
      : TiledMistake<Taken, Tiled<G['grid']>> extends infer Sentence
        ? Sentence extends string
          ? { readonly grid: Bad<`${ShowSegment<G>}: ${Sentence}`> }
          : [IsLast, G['recompute']] extends [false, false]
            ? { readonly recompute: Bad<`${ShowSegment<G>}: what is tiled is recomputed in backward; recompute must be true`> }
            : CheckpointMistake<G, Taken, Names>
        : never
    : { readonly grid: Bad<`${ShowSegment<G>}: tile counts must be whole numbers above 0`> }

/** Why these ops cannot be tiled along D. */
type TiledMistake<Taken extends Entries, D extends string> = Taken extends readonly [
  infer First extends Entry,
  ...infer Rest extends readonly [Entry, ...Entries]
]
  ? [D] extends [InsideDims<First['op']>]
    ? TiledMistake<Rest, D>
    : [D] extends [LastDims<First['op']>]
      ? `cannot tile along ${ShowDims<Exclude<D, InsideDims<First['op']>>>}; ${First['op']} sums over the pixels, so it must be the segment's last op`
      : Disallowed<First['op'], D>
  : Taken extends readonly [infer Last extends Entry]
    ? [D] extends [LastDims<Last['op']>]
      ? undefined
      : Disallowed<Last['op'], D>
    : undefined
type Disallowed<
  N extends Op,
  D extends string
> = `cannot tile along ${ShowDims<Exclude<D, LastDims<N>>>}; ${N} allows ${ShowDims<LastDims<N>>}`

type CheckpointMistake<G extends PlanSegment, Taken extends Entries, Names extends string> = string extends G['checkpoint']
  ? unknown
  : Taken extends readonly [...unknown[], infer Last extends Entry]
    ? G['checkpoint'] extends Last['name']
      ? unknown
      : G['checkpoint'] extends Names
        ? { readonly checkpoint: Bad<`${ShowSegment<G>}: its last layer is ${Last['name']}, not ${G['checkpoint']}`> }
        : { readonly checkpoint: Bad<`${ShowSegment<G>}: there is no layer ${G['checkpoint']}; its last one is ${Last['name']}`> }
    : never
