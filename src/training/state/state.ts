import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { earlierName } from '../../../staging/graph/earlier-names'
import { elementCount } from '../../../staging/graph/extents'
import type { Staged } from '../../../staging/stage'
import type { Section } from '../../../staging/program/program'
import type { StepIo } from '../../../native'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { makeFolder } from '../../files/make-folder'
import {
  type TensorFile,
  type WrittenTensor,
  checkTensors,
  checksumMetadata,
  openTensorFile,
  readTensor,
  writeTensors
} from '../../weights/safetensors'
import { floatTensor } from '../../weights/weights'
import { checkCanWrite, removeAbandoned, writeFailure } from '../../files/atomic-write'
import { type ResumeFingerprint } from './resume-fingerprint'
import type { TrainingRecord } from './record'
import { stepCodec, validationCodec } from './record-codec'

/**
 * A folder of states, `step-N.safetensors` for the state after N steps, the newest two kept. Each
 * holds weights and optimizer state as a plain tensor under its name, `training.loss`,
 * `training.stepMs` and `training.learningRate` (one value a step), `training.validations` (bytes
 * of JSON), and as metadata `tilefold` a JSON object of the rest, and `crc32`, their checksum. A
 * file is written under another name, flushed and renamed, so that none is ever half there.
 */
export interface State {
  readonly file: TensorFile
  readonly record: TrainingRecord
  /** Choices that must be the same when training goes on, and those that may differ. */
  readonly fingerprint: ResumeFingerprint
  readonly rates: ResumeFingerprint
}

const Texts = t.record(t.string, t.string)
const Validations = t.array(validationCodec)
/** Earlier versions kept validations here, which in the end made headers too long to be read. */
const Stored = t.intersection([
  t.type({ version: t.literal(1), steps: stepCodec, agreed: Texts, rates: Texts }),
  t.partial({ validations: Validations })
])
/** As much as safetensors allow. */
const maxHeaderBytes = 100e6

const metadataKey = 'tilefold'
const histories = { loss: 'training.loss', stepMs: 'training.stepMs', learningRate: 'training.learningRate' } as const
const validationsName = 'training.validations'

const parseStep = (name: string): number | undefined => {
  // As it is written: what has zeros in front, or more digits than numbers, has not its own path.
  const [, digits] = /^step-(0|[1-9]\d{0,14})\.safetensors$/.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** Tells whether a file of this name in a folder of states is one of them. */
export const isStateName = (name: string): boolean => parseStep(name) !== undefined

/** The path of the state after `step` steps in a folder of states. */
export const statePath = (folder: string, step: number): string => join(folder, `step-${step}.safetensors`)

/** Steps of the states in a folder, newest first. */
const listSteps = async (folder: string): Promise<readonly number[]> => {
  const steps = (await readdir(folder)).flatMap((name) => parseStep(name) ?? [])
  return steps.sort((a, b) => b - a)
}

/** Makes the folder if need be, and sees that it can be written to. */
export const makeStateFolder = (folder: string): Outcome<void> =>
  pipe(
    TE.tryCatch(() => makeFolder(folder), writeFailure(folder)),
    TE.chain(() => checkCanWrite(statePath(folder, 0)))
  )

/**
 * Steps of the states in a folder that nobody else writes to, newest first; what a process that was
 * killed left half written is removed.
 */
export const openStateFolder = (folder: string): Outcome<readonly number[]> =>
  TE.tryCatch(async () => {
    await removeAbandoned(folder, (name) => parseStep(name) !== undefined)
    return listSteps(folder)
  }, writeFailure(folder))

interface StateToWrite {
  /** The Program's `save`, and its I/O buffer. */
  readonly section: Section
  readonly io: StepIo
  readonly record: TrainingRecord
  readonly fingerprint: ResumeFingerprint
  readonly rates: ResumeFingerprint
}

const keptStates = 2

/**
 * Writes the state after the record's last step, and removes all older ones but one. Fails with
 * code `input` where the folder cannot be written.
 */
export const writeState = (folder: string, { section, io, record, fingerprint, rates }: StateToWrite): Outcome<void> => {
  const steps = record.loss.length
  const stored: t.TypeOf<typeof Stored> = { version: 1, steps, agreed: fingerprint, rates }
  const validations = Buffer.from(JSON.stringify(record.validations))
  const tensors: readonly WrittenTensor[] = [
    ...section.stepIo.map(({ name, shape }) => floatTensor(name, shape, io.view(name))),
    ...(['loss', 'stepMs', 'learningRate'] as const).map((name) =>
      floatTensor(
        histories[name],
        [steps],
        Float64Array.from(record[name], (value) => value ?? NaN)
      )
    ),
    { name: validationsName, type: 'U8', shape: [validations.length], data: validations }
  ]
  return pipe(
    writeTensors(statePath(folder, steps), tensors, { [metadataKey]: JSON.stringify(stored), ...checksumMetadata(tensors) }),
    TE.chain(() =>
      TE.tryCatch(async () => {
        const older = (await listSteps(folder)).filter((step) => step <= steps).slice(keptStates)
        for (const step of older) await rm(statePath(folder, step))
      }, writeFailure(folder))
    )
  )
}

/** Removes the state after `step` steps, if there is one. */
export const removeState = (folder: string, step: number): Outcome<void> =>
  TE.tryCatch(() => rm(statePath(folder, step), { force: true }), writeFailure(folder))

const decodeStored = ({ path, metadata }: TensorFile): E.Either<Failure, t.TypeOf<typeof Stored>> =>
  pipe(
    E.tryCatch(
      () => JSON.parse(metadata[metadataKey] ?? '') as unknown,
      () => undefined
    ),
    E.chainW(Stored.decode),
    E.mapLeft(() => inputFailure(`${path}: is no state of a training; its metadata say something else`))
  )

/**
 * Reads a history of one value a step. What the metadata say is held against the file before room
 * is made for so many.
 */
const readHistory = (file: TensorFile, name: string, steps: number): Outcome<readonly number[]> => {
  const { shape } = file.tensors.get(name) ?? {}
  if (shape?.length !== 1 || shape[0] !== steps)
    return TE.left(inputFailure(`${file.path}: is damaged: its metadata say ${steps} steps, and it has no ${name} of as many`))
  const values = new Float64Array(steps)
  return TE.map(() => [...values])(readTensor(file, name, values))
}

const readValidations = (
  file: TensorFile,
  { validations = [] }: t.TypeOf<typeof Stored>
): Outcome<readonly t.TypeOf<typeof validationCodec>[]> => {
  const { shape } = file.tensors.get(validationsName) ?? {}
  if (shape === undefined) return TE.right(validations)
  const bytes = new Uint8Array(elementCount(shape))
  return pipe(
    readTensor(file, validationsName, bytes),
    TE.chainEitherK(() =>
      pipe(
        E.tryCatch((): unknown => JSON.parse(Buffer.from(bytes.buffer).toString('utf8')), String),
        E.chainW(Validations.decode),
        E.mapLeft(() => inputFailure(`${file.path}: is damaged: its ${validationsName} say something else`))
      )
    )
  )
}

/**
 * Opens a state and reads its record; tensors are read later. Fails with code `input` where the
 * file is no state, or damaged.
 */
export const readState = (path: string): Outcome<State> =>
  pipe(
    TE.Do,
    TE.bind('file', () => openTensorFile(path, maxHeaderBytes)),
    TE.bind('stored', ({ file }) => TE.fromEither(decodeStored(file))),
    TE.chainFirst(({ file }) => checkTensors(file)),
    TE.bind('loss', ({ file, stored }) => readHistory(file, histories.loss, stored.steps)),
    TE.bind('stepMs', ({ file, stored }) => readHistory(file, histories.stepMs, stored.steps)),
    TE.bind('learningRate', ({ file, stored }) =>
      file.tensors.has(histories.learningRate)
        ? TE.map((rates: readonly number[]) => rates.map((rate) => (Number.isNaN(rate) ? null : rate)))(
            readHistory(file, histories.learningRate, stored.steps)
          )
        : TE.right(Array.from({ length: stored.steps }, () => null))
    ),
    TE.bind('validations', ({ file, stored }) => readValidations(file, stored)),
    TE.map(({ file, stored: { agreed, rates }, validations, loss, stepMs, learningRate }) => ({
      file,
      record: { loss, stepMs, learningRate, validations },
      fingerprint: agreed,
      rates
    }))
  )

/**
 * Fills the I/O buffer of the Program's `restore`: weights and optimizer state, each under its name
 * or the one that it had in earlier versions.
 */
export const restoreState = ({ file }: State, { program, graph }: Pick<Staged, 'program' | 'graph'>, io: StepIo): Outcome<void> =>
  pipe(
    program.restore.stepIo,
    TE.traverseSeqArray(({ name }) => readTensor(file, file.tensors.has(name) ? name : earlierName(graph.model, name), io.view(name))),
    TE.map(() => undefined)
  )
