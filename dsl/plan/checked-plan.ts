import type { Lte } from '../shapes/arithmetic'
import type { Entries, Entry, Flat, KnownEntries, WithLoss } from '../flat/entries'
import type { MaxPool } from '../ops'
import type { Model } from '../model'
import type { PlanSwapInterval, PlanPlacement } from './plan'
import type { PlanFigures, PlanFile, planPrecisions, planStrategies } from './plan-file'
import type { EarlierPlacementFields, EarlierPlanFields, PlanInFile } from './earlier-names'
import type { CheckedGrids } from './checked-grids'
import type { InOrder, CheckedOrder } from './checked-order'
import type { CheckedSegments } from './checked-segments'
import type { Listed, Unchecked, UnknownFields } from './sentences'
import type { Images } from '../shapes/input-shape'
import type { Shape, ShowShape } from '../shapes/shape'
import type { Invalid } from '../typing/tensor'

/** A plan in which fields are forgotten, too: for those there are sentences. */
export type PartialPlan = Partial<PlanInFile>

/**
 * What a plan must be besides P to fit the model M: anything, and Invalid at the field that is
 * wrong. What staging and rules.ts do at run time, with the same sentences; where a type is
 * wider than one value, only run time knows.
 */
export type CheckedPlan<M extends Model, P> = [keyof P] extends [keyof PlanFile | keyof EarlierPlanFields]
  ? [Missing<P>] extends [never]
    ? P extends PlanInFile
      ? CheckedFields<M, P>
      : unknown
    : Invalid<`${Missing<P>} is missing`>
  : UnknownFields<Omit<P, keyof EarlierPlanFields>, PlanFile, 'a plan has no field'>

type RequiredFields = readonly [
  ...['model', 'input', 'layers', 'order', 'strategy', 'device', 'objective', 'graph', 'budget', 'peak', 'segments', 'predicted']
]
/** The first field that is not there. */
type Missing<P, Names = RequiredFields> = Names extends readonly [infer First extends string, ...infer Rest]
  ? First extends keyof P
    ? Missing<P, Rest>
    : First
  : never

type CheckedFields<M extends Model, P extends PlanInFile> =
  KnownEntries<WithLoss<Flat<M['layers']>>> extends infer E
    ? E extends Entries
      ? CheckedLayers<E, P['layers']> extends infer L
        ? unknown extends L
          ? CheckedDecisions<E, M, P> & CheckedSwapSchedule<E, P>
          : CheckedHeader<M, P> & { readonly layers: L }
        : never
      : CheckedHeader<M, P> & CheckedFigures<M, P>
    : never

/** The type of a plan's header: its model, strategy, device, objective, figures and placement. */
interface CheckedHeader<M extends Model, P extends PlanInFile> {
  readonly model: CheckedName<M['name'], P['model']>
  readonly strategy: OneOf<'strategy', P['strategy'], typeof planStrategies>
  readonly device: UnknownFields<P['device'], PlanFile['device'], 'the device has no field'> & {
    readonly precision: OneOf<'device.precision', P['device']['precision'], typeof planPrecisions>
  }
  readonly objective: CheckedObjective<P['objective']>
  readonly predicted: CheckedPrediction<P>
  readonly placement?: P extends { readonly placement: infer Q }
    ? UnknownFields<Omit<Q, keyof EarlierPlacementFields>, PlanPlacement, 'a placement has no field'>
    : unknown
}

interface CheckedFigures<M extends Model, P extends PlanInFile> {
  readonly input: CheckedInput<P['input'], Exclude<M['input'], undefined>>
  readonly peak: CheckedPeak<P>
}

interface CheckedDecisions<E extends Entries, M extends Model, P extends PlanInFile> extends CheckedHeader<M, P>, CheckedFigures<M, P> {
  readonly order: CheckedOrder<E, P['order']>
  readonly segments: unknown extends CheckedOrder<E, P['order']> ? CheckedRuns<InOrder<E, P['order']>, M, P> : unknown
}

/** E: the layers as they run. */
type CheckedRuns<E, M extends Model, P extends PlanInFile> =
  CheckedSegments<E, P['segments']> extends infer Y
    ? unknown extends Y
      ? CheckedGrids<E, P['order'], M['layers'], P['input'], P['segments']>
      : Y
    : never

type CheckedName<Own extends string, Name extends string> = string extends Own | Name
  ? unknown
  : Name extends Own
    ? unknown
    : Invalid<`model: the model is ${Own}, the plan for ${Name}`>

type OneOf<Field extends string, Name extends string, Names extends readonly string[]> = string extends Name
  ? unknown
  : Name extends Names[number]
    ? unknown
    : Invalid<`${Field} is "${Name}", not one of ${Listed<Names>}`>

type Objectives = readonly [
  ...['gradients', 'evaluate', 'train with sgd', 'train with sgd without momentum', 'train with adam', 'train with adamw']
]
type CheckedObjective<Text extends string> = string extends Text
  ? unknown
  : Text extends Objectives[number] | `${Objectives[number]},${string}`
    ? unknown
    : Invalid<`objective is "${Text}", not one that begins with ${Listed<Objectives>}`>

/** The type of a plan's predicted figures: a tensor that waits on the host has bytes there. */
type CheckedPrediction<P extends PlanInFile> = UnknownFields<P['predicted'], PlanFigures, 'the prediction has no figure'> & {
  readonly peakHostBytes?: P['predicted'] extends { readonly peakHostBytes: 0 }
    ? OnHost<P> extends infer Tensor extends string
      ? Invalid<`predicted: peakHostBytes cannot be 0 where the ${Tensor} waits on the host`>
      : unknown
    : unknown
}
type OnHost<P extends PlanInFile> = P extends { readonly swapSchedule: readonly [{ readonly tensor: infer Tensor }, ...unknown[]] }
  ? Tensor
  : HostTensor<P['segments']>
type HostTensor<S> = S extends readonly [infer G, ...infer Rest]
  ? G extends { readonly hostTensors: readonly [infer Name extends string, ...unknown[]] }
    ? `output of ${Name}`
    : HostTensor<Rest>
  : undefined

type MaxPools<E extends Entries> = Extract<E[number], readonly [unknown, MaxPool, ...unknown[]]>[0]

/**
 * Gives one sentence on why tensors cannot wait on the host, as far as names tell, if that is so.
 */
type CheckedSwapSchedule<E extends Entries, P extends PlanInFile> = P extends {
  readonly swapSchedule: infer R extends readonly PlanSwapInterval[]
}
  ? { readonly swapSchedule: CheckedSwapIntervals<E[number][0], MaxPools<E>, R> }
  : unknown
type CheckedSwapIntervals<Names extends string, Pools extends string, R extends readonly PlanSwapInterval[]> = {
  readonly [K in keyof R]: UnknownFields<R[K], PlanSwapInterval, 'a tensor on the host has no field'> & {
    readonly tensor: CheckedReference<R[K]['tensor'], `${'input' | 'output'} of ${Names}` | `indices of ${Pools}`, 'tensor'>
    readonly swapOut: CheckedReference<R[K]['swapOut'], Timepoints<Names>, 'timepoint'>
    readonly freed: CheckedReference<R[K]['freed'], Timepoints<Names>, 'timepoint'>
    readonly swapIn: CheckedReference<R[K]['swapIn'], Timepoints<Names>, 'timepoint'>
  }
}
type Timepoints<Names extends string> = `${'forward' | 'backward'} ${Names}`
type CheckedReference<Name extends string, Known extends string, What extends string> = string extends Name
  ? unknown
  : Name extends Known
    ? unknown
    : Invalid<`swapSchedule: there is no ${What} ${Name}`>

type CheckedInput<S extends Shape, Own extends Shape> =
  Images<S> extends infer Y
    ? Y extends Invalid<string>
      ? Y
      : [S] extends [Own]
        ? unknown
        : number extends S['length'] | S[number]
          ? unknown
          : Invalid<`input: the model takes ${ShowShape<Own>}, the plan is for ${ShowShape<S>}`>
    : never

type CheckedPeak<P extends PlanInFile> = [P['budget']] extends [number]
  ? Lte<P['peak'], P['budget']> extends true
    ? unknown
    : Invalid<`the peak of ${P['peak']} bytes is over the budget of ${P['budget']}`>
  : unknown

type Texts<E extends Entries> = { readonly [K in keyof E]: E[K][2] }
type CheckedLayers<E extends Entries, L extends readonly string[]> =
  L extends Texts<E> ? unknown : number extends L['length'] ? unknown : FirstDifference<E, L, E['length'], L['length']>

type FirstDifference<
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
        ? FirstDifference<RestE, RestL, Ours, Theirs, readonly [...Passed, unknown]>
        : readonly [
            ...Passed,
            Invalid<`layer ${Passed['length'] & number}: the model has ${X[2]} (${X[0]}), the plan ${T}`>,
            ...Unchecked<RestL>
          ]
    : Invalid<`layers: the model has ${Ours}, its loss included, the plan ${Theirs}`>
  : Invalid<`layers: the model has ${Ours}, its loss included, the plan ${Theirs}`>
