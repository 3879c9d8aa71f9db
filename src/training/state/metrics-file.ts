import { type FileHandle, constants, copyFile, open } from 'node:fs/promises'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { type Outcome, inputFailure } from '../../failure'
import { findReplaced, writeFailure } from '../../files/atomic-write'
import { syncFile } from '../../files/sync-file'
import type { Validation } from '../validation/best'

/** The line of one step. */
interface StepMetrics {
  /** Number of the step, from 1. */
  readonly step: number
  readonly loss: number
  readonly learningRate: number
  readonly milliseconds: number
  /** Before clipping; where gradients are clipped. */
  readonly gradientNorm?: number
}

/** What the file holds of a step, or of a validation after it. */
export type WrittenLine = StepMetrics | { readonly step: number; readonly validation: Omit<Validation, 'step'> }

/**
 * JSON lines: one object a step, and one `{step, validation: {loss, …}}` a validation, with
 * the measures of such labels by their names.
 */
export interface MetricsFile {
  readonly step: (metrics: StepMetrics) => Outcome<void>
  readonly validation: (validation: Validation) => Outcome<void>
  /** Flushes to disk what was written so far. */
  readonly sync: Outcome<void>
  readonly close: () => Promise<void>
}

const Step = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value > 0)
const Measure = t.union([t.number, t.null])
/** Of values an error is measured, and of all else an accuracy. */
const Measured = t.union([t.type({ accuracy: t.number }), t.type({ mae: Measure })])
/** A line of ours says what no other file would. */
const Line = t.union([
  t.type({ step: Step, loss: Measure, learningRate: t.number, milliseconds: t.number }),
  t.type({ step: Step, validation: t.intersection([t.type({ loss: Measure }), Measured]) })
])

type Line = t.TypeOf<typeof Line>

const parseLine = (text: string): Line | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return Line.is(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * The beginning of every line: what a crash leaves of one is the start of this, or goes on from it.
 */
const beginning = '{"step":'
const isTorn = (text: string): boolean => text.startsWith(beginning) || beginning.startsWith(text)

/** The part of a metrics file that goes on with a training. */
interface Kept {
  readonly lines: readonly Line[]
  /** Bytes of the leading lines that are complete and belong to the steps so far. */
  readonly bytes: number
  /**
   * True if all that follows is of later steps, or a validation, that are made anew, or torn by a
   * crash.
   */
  readonly isAll: boolean
}

/** undefined where the file is none of ours. */
const findKept = (text: string, { steps, loss, last }: MetricsOptions): Kept | undefined => {
  const texts = text.split('\n')
  const torn = texts.pop()!
  const lines = texts.map(parseLine)
  if (texts.length === 0 ? !isTorn(torn) : lines[0] === undefined) return undefined
  const isValidationToCome = last?.every((line) => !('validation' in line)) ?? false
  const isToCome = (line: Line): boolean => line.step > steps || ('validation' in line && line.step === steps && isValidationToCome)
  const isOfThis = (line: Line | undefined): boolean =>
    line !== undefined && !isToCome(line) && ('validation' in line || loss === undefined || loss[line.step - 1] === line.loss)
  const end = lines.findIndex((line) => !isOfThis(line))
  const kept = end === -1 ? lines.length : end
  return {
    lines: lines.slice(0, kept).flatMap((line) => line ?? []),
    bytes: texts.slice(0, kept).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
    isAll: isTorn(torn) && lines.slice(kept).every((line) => line !== undefined && isToCome(line))
  }
}

/** Those of the last step's lines that are not there, where all before them are. */
const findMissing = (kept: readonly Line[], { steps, last = [] }: MetricsOptions): readonly WrittenLine[] => {
  const end = kept.at(-1)?.step
  const isThere = (line: WrittenLine): boolean => kept.some((one) => one.step === line.step && 'validation' in one === 'validation' in line)
  return end === undefined || end < steps - 1 ? [] : last.filter((line) => !isThere(line))
}

/**
 * Which steps there are no lines of, undefined where there are some of each. A file may have been
 * begun later than the training.
 */
const lackedText = (lines: readonly Pick<WrittenLine, 'step'>[], steps: number): string | undefined => {
  const written = new Set(lines.flatMap((line) => ('validation' in line ? [] : [line.step])))
  const begun = lines[0] === undefined ? 0 : lines[0].step
  const lacked = Array.from({ length: steps }, (_, index) => index + 1).filter((step) => !written.has(step) && step > begun)
  const [first, last] = [lacked[0], lacked.at(-1)]
  if (first === undefined || last === undefined) return undefined
  if (first === last) return `step ${first}`
  return lacked.length === last - first + 1 ? `steps ${first} to ${last}` : `${lacked.length} of the steps ${first} to ${last}`
}

const write = async (file: FileHandle, value: object): Promise<void> => file.writeFile(`${JSON.stringify(value)}\n`)

/** Copies a file to the first of F.1, F.2, … that is free. */
const setAside = async (path: string, number = 1): Promise<string> => {
  const aside = `${path}.${number}`
  try {
    await copyFile(path, aside, constants.COPYFILE_EXCL)
    return aside
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    return setAside(path, number + 1)
  }
}

interface MetricsOptions {
  readonly path: string
  /**
   * Steps after which training goes on: what was written of later ones, and a line that a crash has
   * torn, is cut off. Where it begins, at 0, the metrics of another training are set aside, and
   * where it goes on, a file that holds anything else.
   */
  readonly steps: number
  /**
   * Loss of each of these steps, where it is known: a file that says otherwise is another
   * training's.
   */
  readonly loss?: readonly number[]
  /** The lines of the last of these steps, which a full disk may have torn. */
  readonly last?: readonly WrittenLine[]
  readonly notice?: (sentence: string) => void
}

const appendLines = (path: string, file: FileHandle): MetricsFile => {
  const append = (value: object): Outcome<void> => TE.tryCatch(() => write(file, value), writeFailure(path))
  return {
    step: append,
    validation: ({ step, ...validation }: Validation) => append({ step, validation }),
    sync: TE.tryCatch(() => syncFile(file), writeFailure(path)),
    close: () => file.close()
  }
}

/**
 * Cuts the file to what is kept of it; says whether it is none of ours, which is then left as it
 * is.
 */
const truncateToKept = async (file: FileHandle, isNew: boolean, options: MetricsOptions): Promise<'cut' | 'foreign'> => {
  const { path, steps, notice } = options
  const text = await file.readFile('utf8')
  const kept = findKept(text, options)
  if (kept === undefined) return 'foreign'
  if (steps === 0 ? text !== '' : !kept.isAll) {
    const aside = await setAside(path)
    notice?.(
      steps === 0
        ? `${path} held the metrics of another training, which are in ${aside} now`
        : `${path} held more than the metrics of this training: as it was it is in ${aside} now`
    )
  }
  await file.truncate(steps === 0 ? 0 : kept.bytes)
  const missing = findMissing(kept.lines, options)
  for (const line of missing) await write(file, line)
  const lacked = isNew ? undefined : lackedText([...kept.lines, ...missing], steps)
  if (lacked !== undefined) notice?.(`${path} lacks ${lacked}, cut off or never written: it goes on after step ${steps}`)
  return 'cut'
}

/**
 * Opens the file, or refuses one of something else. Each line is handed to the system at once, so
 * that it outlives the process.
 */
export const openMetrics = (options: MetricsOptions): Outcome<MetricsFile> => {
  const { path } = options
  const foreign = `${path}: cannot be written (it holds something else than the metrics of a training): name another file, or remove it`
  return pipe(
    TE.tryCatch(async () => {
      const isNew = (await findReplaced(path)) === undefined
      return { file: await open(path, 'a+'), isNew }
    }, writeFailure(path)),
    TE.chain(({ file, isNew }) =>
      pipe(
        TE.tryCatch(() => truncateToKept(file, isNew, options), writeFailure(path)),
        TE.filterOrElse(
          (is) => is === 'cut',
          () => inputFailure(foreign)
        ),
        TE.map(() => appendLines(path, file)),
        TE.orElseFirstTaskK(() => () => file.close())
      )
    )
  )
}
