import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { setNormaliser, weightOfTargets } from './normaliser'
import { hasTarget, getIgnoredLabel, countLabels } from '../../staging'
import type { Planned } from '../plans/plan-network'
import { type TensorFile, readTensor } from '../weights/safetensors'
import type { RunningNetwork } from './running-network'
import type { Numbers } from '../../native'

/** The shape of a batch's tensor. */
export const batchShape = (file: TensorFile, name: string): E.Either<Failure, readonly number[]> => {
  const entry = file.tensors.get(name)
  return entry === undefined
    ? E.left(inputFailure(`${file.path}: has no tensor ${name}; a batch holds input and target`))
    : E.right(entry.shape)
}

/** The labels of a batch: how many, of how many classes; `ignored` ones do not count. */
interface Labels {
  readonly count: number
  readonly classes: number
  readonly ignored?: number
}

/**
 * Labels are read as float64, which holds what int32 would wrap around, and checked before they are
 * handed over.
 */
const fillLabels = (file: TensorFile, { count, classes, ignored }: Labels, target: Numbers): Outcome<void> => {
  const labels = new Float64Array(count)
  const fail = (fault: string): E.Either<Failure, void> => E.left(inputFailure(`${file.path}: ${fault}`))
  return pipe(
    readTensor(file, 'target', labels),
    TE.chainEitherK(() => {
      const fractional = labels.find((label) => !Number.isInteger(label))
      if (fractional !== undefined) return fail(`the label ${fractional} is not a whole number; store target as int64`)
      const wrong = labels.find((label) => label !== ignored && (label < 0 || label >= classes))
      if (wrong !== undefined)
        return fail(
          `the label ${wrong} is out of range: the model's classes are 0 to ${classes - 1}${ignored === undefined ? '' : `, and ${ignored} is ignored`}`
        )
      return E.right(target.set(labels))
    })
  )
}

const fillTarget = (file: TensorFile, planned: Planned, network: RunningNetwork): Outcome<void> => {
  const loss = planned.staged.graph.nodes.at(-1)!
  const target = network.io.view('target')
  const ignored = getIgnoredLabel(loss)
  const labels = { count: target.length, classes: countLabels(loss), ...(ignored === undefined ? {} : { ignored }) }
  return pipe(
    hasTarget(loss, 'values') ? readTensor(file, 'target', target) : fillLabels(file, labels, target),
    TE.map(() => setNormaliser(loss, weightOfTargets(loss, target), network.io))
  )
}

const targetShape = ({ staged }: Planned): readonly number[] => staged.program.step.stepIo.find(({ name }) => name === 'target')!.shape

/**
 * Fills a step's input and target from a file, whose target must be of the shape that the network
 * needs.
 */
export const fillBatch = (file: TensorFile, planned: Planned, network: RunningNetwork): Outcome<void> => {
  const wanted = targetShape(planned)
  const isLabels = !hasTarget(planned.staged.graph.nodes.at(-1)!, 'values')
  return pipe(
    TE.fromEither(batchShape(file, 'target')),
    TE.filterOrElse(
      (shape) => !isLabels || shape.join() === wanted.join(),
      (shape) => inputFailure(`${file.path}: target is [${shape.join(', ')}] where the model needs [${wanted.join(', ')}]`)
    ),
    TE.chain(() => readTensor(file, 'input', network.io.view('input'))),
    TE.chain(() => fillTarget(file, planned, network))
  )
}
