import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Graph, Parameter } from '../../staging/graph/graph'
import { hasPrefix } from '../../staging/graph/objective'
import type { StepIo, Numbers } from '../../native'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { findMovedClass } from './class-metadata'
import { drawParameters, lastLayer } from './initialise'
import { type NamedTensor, type Resets, type WeightMatch, matchWeights } from './match-weights'
import { renameToNetwork } from './network-names'
import { openWeightFile } from './open-weight-file'
import { type FittedFile, fitInputChannels } from './repeat-planes'
import { type Metadata, type TensorData, writeTensors } from './safetensors'
import type { WeightFile } from './weight-file'

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

/** Where weights come from. */
export interface WeightSource {
  readonly path: string
  /** What is drawn anew; absent where all must be in the file. */
  readonly resets?: Resets
  /** What the network shall score, in order; refused where the file has it in another. */
  readonly classNames?: readonly string[] | undefined
  /** Takes one sentence on what of the file is read otherwise than it stands there. */
  readonly onNotice?: ((sentence: string) => void) | undefined
}

/** Refuses a last layer that would be taken to score the classes in another order. */
const checkClassOrder = (
  { file, match }: { readonly file: WeightFile; readonly match: WeightMatch },
  names: readonly string[],
  parameters: readonly Parameter[]
): E.Either<Failure, void> => {
  const last = lastLayer(parameters)
  const moved = match.loaded.some(({ name }) => hasPrefix(name, last)) ? findMovedClass(names, file) : undefined
  return moved === undefined
    ? E.right(undefined)
    : E.left(
        inputFailure(
          `${file.path}: was trained with ${moved.name} as class ${moved.trained}, but the data has it as class ${moved.now}: give --class-names ${moved.order.join(',')} (of values, columns in that order), or --new-head to draw the last layer anew`
        )
      )
}

/** The weights that a network starts with: what came from the file, and what did not. */
export interface StartingWeights extends WeightMatch {
  readonly path: string
  /** A sentence on a first convolution of other channels than the file's. */
  readonly notice?: string
}

/**
 * Reads a weights file into the I/O buffer of the restore section, and draws from the seed what is
 * to be drawn anew.
 */
export const readWeights = (
  { path, resets, classNames = [], onNotice }: WeightSource,
  { model, parameters }: Pick<Graph, 'model' | 'parameters'>,
  seed: number,
  io: StepIo
): Outcome<StartingWeights> =>
  pipe(
    openWeightFile(path),
    TE.map((file) => renameToNetwork(file, { model, parameters })),
    TE.chainFirstIOK(
      ({ notices }) =>
        () =>
          notices.forEach((notice) => onNotice?.(notice))
    ),
    TE.map((stored): FittedFile => (resets === undefined ? { file: stored } : fitInputChannels(stored, parameters))),
    TE.bind('match', ({ file }) => TE.fromEither(matchWeights({ file, model, parameters, resets }))),
    TE.chainFirstEitherK((found) => checkClassOrder(found, classNames, parameters)),
    TE.chainFirst(({ file, match }) =>
      TE.traverseSeqArray(({ name }: NamedTensor) =>
        pipe(
          file.read(name, io.view(name)),
          TE.chainEitherK(() => checkFinite(path, name, io.view(name), 'take weights from before their training diverged'))
        )
      )(match.loaded)
    ),
    TE.map(({ match, notice }) => {
      const drawn = new Set(match.drawn.map(({ name }) => name))
      drawParameters(seed, parameters, io, (name) => drawn.has(name))
      return { path, ...match, ...(notice === undefined ? {} : { notice }) }
    })
  )

/** A floating-point tensor of an I/O buffer, for a file. */
export const floatTensor = (name: string, shape: readonly number[], data: ArrayBufferView): TensorData => ({
  name,
  type: data instanceof Float64Array ? 'F64' : 'F32',
  shape,
  data
})

/** Writes the parameters that the save section left in its I/O buffer. */
export const writeWeights = (path: string, parameters: readonly Parameter[], io: StepIo, metadata: Metadata): Outcome<void> =>
  writeTensors(
    path,
    parameters.map(({ name, shape }) => floatTensor(name, shape, io.view(name))),
    metadata
  )
