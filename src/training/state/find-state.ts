import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { type ResumeFingerprint, choiceText, fingerprintDifferences } from './resume-fingerprint'
import { type State, openStateFolder, readState, statePath } from './state'

interface ResumeRequest {
  readonly folder: string
  readonly resume: boolean
  readonly fingerprint: ResumeFingerprint
  /** The fingerprint of the same choices under the names that layers had in earlier versions. */
  readonly earlierFingerprint: ResumeFingerprint
  readonly rates: ResumeFingerprint
  readonly notice: (sentence: string) => void
}

const checkFingerprint =
  ({ folder, fingerprint, earlierFingerprint, notice }: ResumeRequest) =>
  (state: State): Outcome<State> => {
    const [first, ...others] = fingerprintDifferences(state.fingerprint, fingerprint)
    if (first === undefined) return TE.right(state)
    if (fingerprintDifferences(state.fingerprint, earlierFingerprint).length === 0) {
      notice(`${folder} has earlier names of layers; states from here on have today's`)
      return TE.right(state)
    }
    const [name, was, is] = first
    // A share of the data that is validated differs with the data, and they with it.
    const further = others.map(([other, before, now]) => `, ${choiceText(other)} was ${before} and is ${now}`).join('')
    return TE.left(
      inputFailure(
        `${folder}: ${choiceText(name)} was ${was} in the training that it holds and is ${is} now${further}: give the same, or another folder`
      )
    )
  }

/** The newest state that is whole; an older one where the disk has lost it. */
const readNewest = (folder: string, steps: readonly number[], notice: ResumeRequest['notice']): Outcome<State> => {
  const [first, ...older] = steps
  const found = readState(statePath(folder, first!))
  return older.length === 0
    ? TE.mapLeft((failure: Failure) =>
        // Elsewhere training starts afresh, by the same command.
        failure.code === 'input' ? inputFailure(`${failure.message}: no state in ${folder} can be read; give another folder`) : failure
      )(found)
    : TE.orElse((failure: Failure) => {
        notice(`${failure.message}; the state after step ${older[0]} is taken`)
        return readNewest(folder, older, notice)
      })(found)
}

/**
 * The state to go on from, or undefined where training starts afresh: the folder holds none.
 * Without --resume a folder that holds one is refused, lest it be written over.
 */
export const findStateToResume = (resuming: ResumeRequest): Outcome<State | undefined> => {
  const { folder, resume, rates, notice } = resuming
  return pipe(
    openStateFolder(folder),
    TE.chain((steps): Outcome<State | undefined> => {
      if (!resume)
        return steps[0] === undefined
          ? TE.right(undefined)
          : TE.left(inputFailure(`${folder} holds the state after step ${steps[0]}: give --resume to go on from it, or another folder`))
      if (steps.length === 0) {
        notice(`${folder} holds no state: training starts afresh`)
        return TE.right(undefined)
      }
      return pipe(
        readNewest(folder, steps, notice),
        TE.chain(checkFingerprint(resuming)),
        TE.chainFirstIOK((state) => () => {
          notice(`training goes on after step ${state.record.loss.length}, from ${state.file.path}`)
          // What states of earlier versions do not keep is no difference.
          for (const [name, was, is] of fingerprintDifferences(state.rates, rates))
            if (name in state.rates) notice(`--${name} is ${is} from here on; it was ${was}`)
        })
      )
    })
  )
}
