import { createHash } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { PlanFile } from '../../../dsl'
import { type Program, type RankSummary, decodeRankSummary, summariseRank, verifySummaries } from '../../../staging'
import { type Failure, type Outcome, bug, inputFailure } from '../../failure'
import { type Mesh, onMesh, ranksOfGroup } from '../../plans/mesh'
import { type Planned, type SetupGraph, planNetwork } from '../../plans/plan-network'
import { type Ranks, decodeJson } from '../../ranks/ranks'
import { encodeTold, toldFailure } from './told-failure'

/** The plan of the rank at an index of those that share a micro-batch, by a file. */
export const planFor = (built: SetupGraph, mesh: Mesh, index: number, plan: PlanFile): E.Either<Failure, Planned> =>
  planNetwork(onMesh({ ...built, setup: { ...built.setup, plan } }, mesh, index))

/** A short hash of a Program, which is the same where the Program is. */
export const programHash = ({ kernels, buffers, ...program }: Program): string =>
  createHash('sha256')
    .update(JSON.stringify([kernels, buffers, program]))
    .digest('hex')
    .slice(0, 12)

/** What all ranks know of a plan that fits all: the file, and the most bytes that one takes. */
export interface PlanOfRows {
  readonly file: PlanFile
  readonly peakBytes: number
}

/** A rank that a plan does not fit, or that cannot run it, and why. */
export interface Misfit {
  readonly rank: number
  readonly failure: Failure
}

/** What a rank makes of a plan, for all others. */
interface OwnProgram {
  readonly summary: RankSummary
  readonly hash: string
  readonly peakBytes: number
}

const toldProgram = t.type({ program: t.type({ summary: t.unknown, hash: t.string, peakBytes: t.number }) })

const decodeProgram = (value: unknown): E.Either<Failure, E.Either<Failure, OwnProgram>> => {
  if (toldFailure.is(value)) return E.right(E.left(value.failure))
  if (!toldProgram.is(value)) return E.left(bug('a rank told of a Program what is none'))
  const { summary, ...program } = value.program
  return pipe(
    decodeRankSummary(summary),
    E.bimap(bug, (decoded) => E.right({ ...program, summary: decoded }))
  )
}

const proveTogether = (summaries: readonly RankSummary[]): E.Either<Failure, void> =>
  pipe(
    verifySummaries(summaries),
    E.mapLeft(({ message }) => bug(`the Programs of ${summaries.length} ranks do not go together: ${message}`))
  )

/** What all ranks made of a plan goes together: those of a group, and groups with the first one. */
const proveAll = (made: readonly OwnProgram[], group: number): E.Either<Failure, void> => {
  const other = made.findIndex(({ hash }, rank) => hash !== made[rank % group]!.hash)
  return other === -1
    ? proveTogether(made.slice(0, group).map(({ summary }) => summary))
    : E.left(
        inputFailure(`rank ${other} makes another Program of the plan than rank ${other % group} does: start all ranks with the same build`)
      )
}

/**
 * Each rank lowers and verifies the plan for itself, beside the others, and tells what must go
 * together: so it takes as long for many ranks as for few.
 */
export const makePrograms =
  ({ rank, allGather }: Ranks, built: SetupGraph, mesh: Mesh) =>
  (file: PlanFile): Outcome<E.Either<Misfit, PlanOfRows>> => {
    const group = ranksOfGroup(mesh)
    const own = pipe(
      planFor(built, mesh, rank % group, { ...file, budget: null }),
      E.map(({ staged: { program } }): OwnProgram => ({
        ...{ summary: summariseRank(program), hash: programHash(program), peakBytes: program.peakBytes }
      }))
    )
    return pipe(
      // Much of it is alike, of rank after rank.
      allGather(E.right(deflateSync(encodeTold('program', own)))),
      TE.chainEitherK(E.traverseArray((bytes) => decodeProgram(decodeJson(inflateSync(bytes))))),
      TE.chainEitherK((all): E.Either<Failure, E.Either<Misfit, PlanOfRows>> => {
        const made = E.sequenceArray(all.map((one, at) => E.mapLeft((failure: Failure): Misfit => ({ rank: at % group, failure }))(one)))
        if (E.isLeft(made)) return E.right(made)
        return pipe(
          proveAll(made.right, group),
          E.map(() => E.right({ file, peakBytes: Math.max(...made.right.map(({ peakBytes }) => peakBytes)) }))
        )
      })
    )
  }
