import * as E from 'fp-ts/Either'
import { groupBy } from 'fp-ts/NonEmptyArray'
import { median } from '../median'
import type { Batch } from './batches'
import type { Row } from './benchmark'
import type { Check } from './check-options'
import type { DriverMemory } from './driver-memory'
import type { LaunchOverhead } from './launch-overhead'
import type { NetworkStep } from './networks'
import type { Overlap } from './overlap'
import type { Error64, Parity } from './parity'
import type { Profiled } from './predictions'
import type { Refusal } from './refusal'
import type { Sanitized } from './sanitizer'
import type { Tested } from './suite'

/** What a part of the check found; absent while it has not run, a sentence where it could not. */
export interface Part<A> {
  readonly seconds: number
  /** What it has so far: the check was ended meanwhile, or goes on. */
  readonly isUnfinished?: true
  readonly found: E.Either<Refusal, A>
}

/** All that a check of a GPU found, part by part. */
export interface Report {
  readonly version: string
  readonly date: string
  readonly check: Check
  readonly pytorch: E.Either<Refusal, { readonly version: string; readonly device: string; readonly memoryBytes: number | null }>
  readonly suite?: Part<readonly Tested[]>
  readonly parity?: Part<readonly Parity[]>
  readonly networks?: Part<readonly NetworkStep[]>
  readonly benchmarks?: Part<readonly Row[]>
  readonly predictions?: Part<readonly E.Either<Refusal, Profiled>[]>
  readonly overlap?: Part<readonly E.Either<Refusal, Overlap>[]>
  readonly launchOverhead?: Part<readonly E.Either<Refusal, LaunchOverhead>[]>
  readonly driverMemory?: Part<readonly E.Either<Refusal, DriverMemory>[]>
  readonly sanitizer?: Part<readonly Sanitized[]>
  readonly batches?: Part<readonly Batch[]>
}

const valuesOf = (errors: readonly Error64[]): readonly number[] => errors.flatMap((error) => (E.isRight(error) ? [error.right] : []))

/** What no precision explains: gradients of something else have an error of 1 and more. */
const mostAlone = 0.5

/**
 * Whether each figure of ours is there, and their median is at most twice PyTorch's largest; where
 * PyTorch has none, at most `mostAlone`.
 */
export const parityHolds = (rows: readonly Parity[]): boolean => {
  const theirs = valuesOf(rows.map(({ pytorch }) => pytorch))
  return (['whole', 'tiled'] as const).every((net) => {
    const ours = valuesOf(rows.map(({ tilefold }) => tilefold[net]))
    return ours.length === rows.length && median(ours) <= (theirs.length === 0 ? mostAlone : 2 * Math.max(...theirs))
  })
}

/** Rows of one precision and size, which one verdict is about. */
export const parityGroups = (rows: readonly Parity[]): readonly (readonly Parity[])[] =>
  Object.values(groupBy(({ precision, size }: Parity) => `${precision} ${size}`)([...rows]))

const foundNoErrors = (part: Report['sanitizer']): boolean =>
  part === undefined || E.isLeft(part.found) || part.found.right.every(({ found }) => E.isLeft(found) || found.right.errors === 0)

/** Whether everything that decides ran, of what was asked for, and agreed; times decide nothing. */
export const holds = ({ check: { parts }, suite, parity, sanitizer }: Report): boolean =>
  foundNoErrors(sanitizer) &&
  (!parts.includes('suite') || (suite !== undefined && E.isRight(suite.found) && suite.found.right.every(({ failed }) => failed === 0))) &&
  (!parts.includes('parity') || (parity !== undefined && E.isRight(parity.found) && parityGroups(parity.found.right).every(parityHolds)))

/** For JSON: { value } or { error }, as the addon has it. */
export const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const fields = value as Readonly<Record<string, unknown>>
  if (fields._tag === 'Right') return { value: plain(fields.right) }
  if (fields._tag === 'Left') return { error: plain(fields.left) }
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, plain(field)]))
}
