import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Section } from '../../../staging/program/program'
import { type StepIo, createStepIo } from '../../../native'
import type { Outcome } from '../../failure'
import type { RunningNetwork } from '../../running/running-network'
import type { Metadata } from '../../weights/safetensors'
import { doneSince, isWorthwhile, neverDone } from './time-share'
import { checkFiniteWeights, writeWeights } from '../../weights/weights'

/**
 * Copies of the weights and optimizer state on the host, since an interrupted step leaves the
 * device's half updated.
 */
interface Snapshots {
  /** The last copy. */
  readonly io: StepIo
  /** Copies after `steps` completed steps, unless the last copy was made then. */
  readonly ensure: (steps: number) => Outcome<void>
  /**
   * Copies the weights after `steps` completed steps, unless the last copy was made so recently
   * that copying would cost over 5% of the time.
   */
  readonly afterStep: (steps: number) => Outcome<void>
  /** Steps that the last copy has seen; 0 where there is none. */
  readonly lastStep: () => number
  /** True if the weights of the last copy are finite. */
  readonly check: Outcome<void>
  /** Writes the weights of the last copy, which must be finite. */
  readonly write: (path: string) => Outcome<void>
  /** Copies the weights if need be, and writes them. */
  readonly finish: (steps: number, path: string) => Outcome<void>
}

/**
 * Makes room on the host for a copy of a network's weights and optimizer state; none is taken yet.
 */
export const createSnapshots = (network: RunningNetwork, section: Section, metadata: Metadata): Snapshots => {
  const io = createStepIo(section)
  let last = { step: 0, ...neverDone }
  const take = (steps: number): Outcome<void> => {
    const started = performance.now()
    // Until it is whole the copy is of no step.
    last = { ...last, step: 0 }
    return pipe(
      network.save(io),
      // An interrupt that meets the copy leaves the weights on the device whole: copy them again.
      TE.orElse((failure) => (failure.code === 'interrupted' ? network.save(io) : TE.left(failure))),
      TE.map(() => void (last = { step: steps, ...doneSince(started) }))
    )
  }
  const check: Outcome<void> = () => Promise.resolve(checkFiniteWeights(last.step, network.parameters, io))
  const write = (path: string): Outcome<void> =>
    pipe(
      check,
      TE.chain(() => writeWeights(path, network.parameters, io, metadata))
    )
  const ensure = (steps: number): Outcome<void> => (last.step === steps ? TE.right(undefined) : take(steps))
  return {
    io,
    ensure,
    afterStep: (steps) => (isWorthwhile(last) ? ensure(steps) : TE.right(undefined)),
    lastStep: () => last.step,
    check,
    write,
    finish: (steps, path) =>
      pipe(
        ensure(steps),
        TE.chain(() => write(path))
      )
  }
}
