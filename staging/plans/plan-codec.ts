import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { PlanFile } from '../../dsl'
import {
  planStrategies,
  type PlanFileSegment,
  type PlanGrid,
  type PlanPlacement,
  type PlanShards,
  type PlanSwapInterval
} from '../../dsl/internal'
import { decodeAs } from '../decoding/decode'
import { oneOfCodec, predicateCodec } from '../decoding/predicate-codec'
import { strictObject } from '../decoding/strict-object'
import { objectiveBeginnings } from '../graph/objective-text'
import { renameEarlierFields } from './earlier-names'

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0

const count = predicateCodec<number>('a whole number from 0 upwards', isCount)
const figure = predicateCodec<number>('a number from 0 upwards', (value) => Number.isFinite(value) && Number(value) >= 0)
/** Below 0 where tiles leave out what nothing reads. */
const share = predicateCodec<number>('a number above -1', (value) => Number.isFinite(value) && Number(value) > -1)
const bytes = predicateCodec<number | null>('a whole number of bytes or null', (value) => value === null || isCount(value))
const flag = predicateCodec<boolean>('true or false', t.boolean.is)
const names = t.readonlyArray(t.string)

/** C too, so that asking for it is refused by name. */
const grid = strictObject<PlanGrid & { readonly C?: number }>(
  'a grid',
  'dimension',
  { B: t.number, H: t.number, W: t.number },
  { C: t.number }
)

const shards = strictObject<PlanShards>('the shards of a segment', 'dimension', { B: t.number, H: t.number }, {})

const segment = strictObject<PlanFileSegment>(
  'a segment',
  'field',
  {
    from: count,
    to: count,
    checkpoint: t.string,
    grid,
    recompute: flag,
    reorder: predicateCodec("'once' or 'each-tile'", (value) => value === 'once' || value === 'each-tile')
  },
  {
    winograd: names,
    slicedWinograd: names,
    normaliseOnLoad: names,
    workspace: count,
    prefetch: t.literal(true),
    hostTensors: names,
    rematerialize: t.literal(true),
    shards
  }
)

const swapInterval = strictObject<PlanSwapInterval>(
  'a tensor on the host',
  'field',
  { tensor: t.string, swapOut: t.string, freed: t.string, swapIn: t.string },
  {}
)

const placement = strictObject<PlanPlacement>(
  'a placement',
  'field',
  { allocator: t.literal('virtual', "'virtual'"), pageBytes: count },
  {}
)

const device = strictObject<PlanFile['device']>(
  'the device',
  'field',
  { name: t.string, precision: oneOfCodec<string>('float32', 'tf32', 'bf16', 'float64'), threads: count },
  {}
)

const predicted = strictObject<PlanFile['predicted']>(
  'the prediction',
  'figure',
  {},
  {
    peakHostBytes: figure,
    plainPeakBytes: figure,
    stepMilliseconds: figure,
    lowerBoundMilliseconds: figure,
    haloOverhead: share
  }
)

const plan = strictObject<PlanFile>(
  'a plan',
  'field',
  {
    model: t.string,
    input: t.readonlyArray(t.number),
    layers: names,
    order: t.readonlyArray(t.number),
    strategy: oneOfCodec(...planStrategies),
    device,
    objective: predicateCodec(
      `one that begins with ${objectiveBeginnings.join(', ')}`,
      (value) => typeof value === 'string' && objectiveBeginnings.some((beginning) => `${value},`.startsWith(`${beginning},`))
    ),
    graph: t.string,
    budget: bytes,
    peak: count,
    segments: t.readonlyArray(segment),
    predicted
  },
  {
    swapSchedule: t.readonlyArray(swapInterval),
    placement,
    overlapReduction: t.union([t.literal(true), t.readonlyArray(count)]),
    edgeTilesFirst: t.literal(true),
    offloadOptimizer: t.union([t.literal(true), t.readonlyArray(count)]),
    offloadWeights: count
  }
)

/** A decoded plan, and what is to be said of it. */
export interface DecodedPlan {
  readonly plan: PlanFile
  /** The earlier names of fields that it had, with those of today. */
  readonly renamed: readonly string[]
}

/**
 * A plan from what JSON or a module holds, by today's names of fields or by earlier ones; or a
 * sentence with the place that is wrong.
 */
export const decodePlanFile = (value: unknown): E.Either<string, DecodedPlan> =>
  pipe(
    renameEarlierFields(value),
    E.chain(({ plan: given, renamed }) => E.map((decoded: PlanFile) => ({ plan: decoded, renamed }))(decodeAs('plan', plan)(given)))
  )
