import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Parameter } from '../../staging/graph/graph'
import type { StepIo, Numbers } from '../running/step-io'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type TensorData, type TensorFile, openTensorFile, readTensor, writeTensors } from './safetensors'

const shapeText = (shape: readonly number[]): string => `[${shape.join(', ')}]`

/**
 * Tells whether a tensor is the count that PyTorch saves beside the running statistics of a batch
 * normalisation; nothing here reads it.
 */
const isBatchCount = (name: string, names: ReadonlySet<string>): boolean =>
  name.endsWith('.num_batches_tracked') && names.has(name.replace(/num_batches_tracked$/, 'running_mean'))

/** Heads that torchvision's files hold for training; the models here have none. */
const auxiliaryHeads: ReadonlyMap<string, string> = new Map([
  ['inception_v3', 'AuxLogits.'],
  ['deeplabv3_resnet50', 'aux_classifier.'],
  ['deeplabv3_resnet101', 'aux_classifier.']
])

/**
 * The file must hold the model's parameters and running statistics, each in its shape, and nothing
 * that the model does not know.
 */
const matchParameters =
  (model: string, parameters: readonly Parameter[]) =>
  (file: TensorFile): E.Either<Failure, TensorFile> => {
    const fail = (fault: string): E.Either<Failure, TensorFile> => E.left(inputFailure(`${file.path}: ${fault}`))
    const names = new Set(parameters.map(({ name }) => name))
    for (const { name, shape } of parameters) {
      const stored = file.tensors.get(name)
      if (stored === undefined) return fail(`lacks ${name} ${shapeText(shape)}, which ${model} needs`)
      if (stored.shape.join() !== shape.join())
        return fail(`${name} is ${shapeText(stored.shape)} where ${model} needs ${shapeText(shape)}`)
      if (!['F32', 'F64', 'F16', 'BF16'].includes(stored.type)) return fail(`${name} is ${stored.type}; weights are F32, F64, F16 or BF16`)
    }
    const auxiliary = auxiliaryHeads.get(model)
    const isAuxiliary = (name: string): boolean => auxiliary !== undefined && name.startsWith(auxiliary)
    const extra = [...file.tensors.keys()].find((name) => !names.has(name) && !isBatchCount(name, names) && !isAuxiliary(name))
    return extra === undefined ? E.right(file) : fail(`holds ${extra}, which ${model} has not`)
  }

/** Tells whether all values are finite: nothing but them makes 0 of a product with 0. */
const areFinite = (values: Numbers): boolean => {
  let sum = 0
  for (let index = 0; index < values.length; index += 1) sum += values[index]! * 0
  return sum === 0
}

/**
 * Refuses weights that have diverged, of which nothing can be computed, even where a rectifier
 * makes zeros of them; `whose` begins the sentence.
 */
const checkFinite = (whose: string, name: string, values: Numbers, remedy: string): E.Either<Failure, void> => {
  if (areFinite(values)) return E.right(undefined)
  const wrong = values.find((value) => !Number.isFinite(value))
  return E.left({ code: 'loss', message: `${whose}: ${name} holds ${wrong}, which is not finite: ${remedy}` })
}

/** The loss of a step says nothing of what its update makes of the weights. */
export const checkFiniteWeights = (steps: number, parameters: readonly Parameter[], io: StepIo): E.Either<Failure, void> =>
  pipe(
    parameters,
    E.traverseArray(({ name }) =>
      checkFinite(`the weights after step ${steps}`, name, io.view(name), 'lower --lr, or start from other weights')
    ),
    E.map(() => undefined)
  )

/** Reads a weights file into the I/O buffer of the restore section. */
export const readWeights = (path: string, model: string, parameters: readonly Parameter[], io: StepIo): Outcome<void> =>
  pipe(
    openTensorFile(path),
    TE.chainEitherK(matchParameters(model, parameters)),
    TE.chain((file) =>
      TE.traverseSeqArray(({ name }: Parameter) =>
        pipe(
          readTensor(file, name, io.view(name)),
          TE.chainEitherK(() => checkFinite(path, name, io.view(name), 'take weights from before their training diverged'))
        )
      )(parameters)
    ),
    TE.map(() => undefined)
  )

/** A floating-point tensor of an I/O buffer, for a file. */
export const floatTensor = (name: string, shape: readonly number[], data: ArrayBufferView): TensorData => ({
  name,
  type: data instanceof Float64Array ? 'F64' : 'F32',
  shape,
  data
})

/** Writes the parameters that the save section left in its I/O buffer. */
export const writeWeights = (path: string, parameters: readonly Parameter[], io: StepIo): Outcome<void> =>
  writeTensors(
    path,
    parameters.map(({ name, shape }) => floatTensor(name, shape, io.view(name)))
  )
