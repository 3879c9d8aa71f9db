import { existsSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import * as T from 'fp-ts/Task'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Program } from '../../../staging/program/program'
import type { Failure, Outcome } from '../../failure'
import type { RunningNetwork } from '../../running/running-network'
import type { Metadata } from '../../weights/safetensors'
import { createSnapshots } from './snapshots'
import type { ResumeFingerprint } from './resume-fingerprint'
import { type TrainingRecord, recordAfter } from './record'
import { removeState, statePath, writeState } from './state'
import { doneSince, isWorthwhile, neverDone } from './time-share'

interface StateWriterOptions {
  /** Folder of states. */
  readonly state: string | undefined
  /** File of the weights in the end. */
  readonly save: string | undefined
  /** File of the best weights. */
  readonly best: string | undefined
  readonly fingerprint: ResumeFingerprint
  readonly rates: ResumeFingerprint
  /** Steps after which the state was taken that this training goes on from; 0 where it does not. */
  readonly resumedAfter: number
  /**
   * Whether a launcher that is asked to stop may kill within a step: after one that outlasts its
   * patience all is copied, and the state is written beside the next one as often as that is cheap.
   */
  readonly keepsLongSteps: boolean
  /** The metadata of the files of weights. */
  readonly metadata: Metadata
}

/**
 * Writes a training to disk: states as it runs, the best weights, the weights in the end, and what
 * is left when it fails.
 */
export interface StateWriter {
  /**
   * After a complete step and its validation: a state where one is due, else a copy on the host
   * where copying is cheap.
   */
  readonly afterStep: (record: TrainingRecord, isStateDue: boolean) => Outcome<void>
  /**
   * Writes the state of the last copy, beside the step that runs, where that may not be complete
   * before a launcher kills: an older copy only where steps outlast its patience.
   */
  readonly keepLast: (record: TrainingRecord) => Outcome<void>
  /** Writes the weights, which are the best so far. */
  readonly best: (steps: number) => Outcome<void>
  /** The last state and the weights. */
  readonly finish: (record: TrainingRecord) => Outcome<void>
  /**
   * Writes what a training that ends early has learnt, unless its loss has diverged, and says in
   * the failure what is there to go on from: the last finished step's where the device holds it
   * still, else the last copy's.
   */
  readonly afterFailure: (record: TrainingRecord, failure: Failure, isBetweenSteps: boolean) => Outcome<never>
}

const nothing: Outcome<void> = TE.right(undefined)

/** Open MPI leaves ranks two seconds between asking them to stop and killing them. */
const launcherPatienceMs = 1000

/** Whether the last step outlasts a launcher's patience. */
const isLong = ({ stepMs }: TrainingRecord): boolean => (stepMs.at(-1) ?? 0) > launcherPatienceMs

/** A writer that writes nothing where the options name neither folder nor file. */
export const createStateWriter = (network: RunningNetwork, program: Program, options: StateWriterOptions): StateWriter => {
  const { state, save, best, fingerprint, rates, resumedAfter, metadata, keepsLongSteps } = options
  const wanted = state !== undefined || save !== undefined || best !== undefined
  const copies = wanted ? createSnapshots(network, program.save, metadata) : undefined
  /** Steps of the states in the folder, oldest first. */
  let states: readonly number[] = resumedAfter > 0 ? [resumedAfter] : []
  let turn: Promise<unknown> = Promise.resolve()
  let lastWritten = neverDone
  /** One after the other, since what is written beside a step reads the copy. */
  const inTurn =
    <A>(make: () => T.Task<A>): T.Task<A> =>
    () => {
      const done = turn.then(() => make()())
      turn = done
      return done
    }

  /** Writes the state of the last copy. */
  const keepState = (record: TrainingRecord): Outcome<void> => {
    if (copies === undefined || state === undefined) return nothing
    const steps = copies.lastStep()
    if (steps === 0 || steps === states.at(-1)) return nothing
    const { io } = copies
    const started = performance.now()
    return pipe(
      copies.check,
      TE.chain(() => writeState(state, { section: program.save, io, record: recordAfter(record, steps), fingerprint, rates })),
      TE.map(() => void (states = [...states, steps])),
      T.chainFirstIOK(() => () => void (lastWritten = doneSince(started)))
    )
  }

  const copyAndKeepState = (record: TrainingRecord): Outcome<void> =>
    copies === undefined || state === undefined || record.loss.length === 0
      ? nothing
      : pipe(
          copies.ensure(record.loss.length),
          TE.chain(() => keepState(record))
        )

  /** A state whose next loss is not finite is not worth going back to. */
  const dropSpoilt = (steps: number): Outcome<void> => {
    if (state === undefined || steps === resumedAfter || states.at(-1) !== steps) return nothing
    return TE.map(() => void (states = states.slice(0, -1)))(removeState(state, steps))
  }

  /**
   * Nothing that was learnt is lost because something else cannot be written: what is kept, and
   * what is not, in sentences.
   */
  const keepLearnt = (record: TrainingRecord, isBetweenSteps: boolean): T.Task<readonly string[]> => {
    if (copies === undefined) return T.of([])
    const saveCopy: T.Task<readonly string[]> = () => {
      const steps = copies.lastStep()
      if (save === undefined || steps === 0) return Promise.resolve([])
      return pipe(
        copies.write(save),
        TE.match(
          ({ message }) => [message],
          () => [`${save} holds the weights after step ${steps}`]
        )
      )()
    }
    return pipe(
      isBetweenSteps ? copies.ensure(record.loss.length) : nothing,
      T.chain(() => saveCopy),
      T.chain((kept) =>
        pipe(
          keepState(record),
          TE.match(
            ({ message }) => [...kept, message],
            () => kept
          )
        )
      )
    )
  }

  // Where it fails, what is written at the end says so.
  const keepLast = (record: TrainingRecord): Outcome<void> =>
    inTurn(() => (isLong(record) || copies?.lastStep() === record.loss.length ? keepState(record) : nothing))
  const copyAfter = (record: TrainingRecord): Outcome<void> => {
    if (copies === undefined) return nothing
    const steps = record.loss.length
    return keepsLongSteps && isLong(record) ? copies.ensure(steps) : copies.afterStep(steps)
  }
  const isWorthKeeping = (record: TrainingRecord): boolean => keepsLongSteps && isLong(record) && isWorthwhile(lastWritten)

  return {
    afterStep: (record, isStateDue) =>
      pipe(
        inTurn(() => (state !== undefined && isStateDue ? copyAndKeepState(record) : copyAfter(record))),
        TE.chainFirstIOK(() => () => (isWorthKeeping(record) ? void keepLast(record)() : undefined))
      ),
    keepLast,
    best: (steps) => (copies === undefined || best === undefined ? nothing : inTurn(() => copies.finish(steps, best))),
    finish: (record) =>
      inTurn(() =>
        pipe(
          copyAndKeepState(record),
          TE.chain(() => (copies === undefined || save === undefined ? nothing : copies.finish(record.loss.length, save)))
        )
      ),
    afterFailure: (record, failure, isBetweenSteps) =>
      inTurn(() =>
        pipe(
          failure.code === 'loss' ? dropSpoilt(record.loss.length) : nothing,
          TE.chainTaskK(() => (failure.code === 'loss' ? T.of([]) : keepLearnt(record, isBetweenSteps))),
          TE.chainEitherK((kept) => {
            const last = states.at(-1)
            const isHeld = state !== undefined && last !== undefined && existsSync(statePath(state, last))
            const held = isHeld ? [`${state} holds the state after step ${last}`] : []
            return E.left({ ...failure, message: [...new Set([failure.message, ...kept, ...held])].join('; ') })
          })
        )
      )
  }
}
