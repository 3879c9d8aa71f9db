import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { CheckPrecision } from './check-options'
import { type Refusal, refusal } from './refusal'
import type { Part, Report } from './report'

/** What was measured, in words, and whether it is within its limit. */
export interface Figure {
  readonly text: string
  readonly holds: boolean
}

/** A figure, or why there is none, of one precision or whatever else a verdict is about. */
export interface Finding {
  readonly of: string
  readonly figure: E.Either<Refusal, Figure>
}

/** What Tilefold must reach on a GPU, and whether it did; points are numbered as the goals are. */
export interface Verdict {
  readonly point: number
  readonly what: string
  readonly limit: string
  readonly findings: readonly Finding[]
  readonly holds: 'yes' | 'no' | 'yes, as far as it was measured' | 'not measured'
}

/** A verdict on findings: it holds where all do that were measured. */
export const judge = (point: number, what: string, limit: string, findings: readonly Finding[]): Verdict => {
  const held = findings.flatMap(({ figure }) => (E.isRight(figure) ? [figure.right.holds] : []))
  const holds = held.includes(false)
    ? 'no'
    : held.length === 0
      ? 'not measured'
      : held.length < findings.length
        ? 'yes, as far as it was measured'
        : 'yes'
  return { point, what, limit, findings, holds }
}

/** Why a part that was left out has no figure. */
export const notRun: E.Either<Refusal, never> = E.left(refusal('not run'))

/** What a part found, or why there is nothing. */
export const getFound = <A>(part: Part<A> | undefined): E.Either<Refusal, A> => part?.found ?? notRun

/** A finding of each precision. */
export const byPrecision = ({ check }: Report, figure: (precision: CheckPrecision) => E.Either<Refusal, Figure>): readonly Finding[] =>
  check.precisions.map((precision) => ({ of: precision, figure: figure(precision) }))

/** A finding of each precision, from a part that has one row for each, in their order. */
export const byRow = <A>(
  report: Report,
  part: Part<readonly E.Either<Refusal, A>[]> | undefined,
  figure: (row: A) => E.Either<Refusal, Figure>
): readonly Finding[] =>
  byPrecision(report, (precision) =>
    pipe(
      getFound(part),
      E.chain((rows) => rows[report.check.precisions.indexOf(precision)] ?? notRun),
      E.chain(figure)
    )
  )

/** All of them, or the first refusal. */
export const all = E.sequenceArray<Refusal, unknown> as <A>(found: readonly E.Either<Refusal, A>[]) => E.Either<Refusal, readonly A[]>

/** Adds up numbers. */
export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
