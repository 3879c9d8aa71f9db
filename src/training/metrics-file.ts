import { type FileHandle, open } from 'node:fs/promises'
import * as TE from 'fp-ts/TaskEither'
import { type Outcome } from '../failure'
import { refuseSpecial, unwritable } from '../whole-file'
import type { Validation } from './best'

/** One step's line. */
export interface StepMetrics {
  /** From 1. */
  readonly step: number
  readonly loss: number
  readonly learningRate: number
  readonly milliseconds: number
  /** Before clipping; where gradients are clipped. */
  readonly gradientNorm?: number
}

/** JSON lines: one object a step, and one `{step, validation: {loss, accuracy, auc}}` (of masks `iou` in place of `auc`) a validation. */
export interface MetricsFile {
  readonly step: (metrics: StepMetrics) => Outcome<void>
  readonly validation: (validation: Validation) => Outcome<void>
  /** Flushes to disk what was written so far. */
  readonly sync: Outcome<void>
  readonly close: () => Promise<void>
}

const stepOf = (line: string): number | undefined => {
  try {
    const { step } = JSON.parse(line) as { readonly step?: unknown }
    return typeof step === 'number' ? step : undefined
  } catch {
    return undefined
  }
}

/** Bytes of the leading lines that are whole and belong to the first `steps` steps; undefined where the file is none of ours. */
const keptBytes = (text: string, steps: number): number | undefined => {
  const lines = text.split('\n').slice(0, -1)
  if (text !== '' && (lines[0] === undefined ? !text.startsWith('{') : stepOf(lines[0]) === undefined)) return undefined
  const end = lines.findIndex((line) => (stepOf(line) ?? Infinity) > steps)
  return lines.slice(0, end === -1 ? lines.length : end).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
}

const write = async (file: FileHandle, value: object): Promise<void> => file.writeFile(`${JSON.stringify(value)}\n`)

/**
 * Opens the file to go on after `steps` steps: what was written of later ones, and a line that a crash has torn, is cut off. Each
 * line is handed to the system at once, so that it outlives the process.
 */
export const openMetrics = (path: string, steps: number): Outcome<MetricsFile> =>
  TE.tryCatch(async () => {
    await refuseSpecial(path)
    const file = await open(path, 'a+')
    try {
      const kept = keptBytes(await file.readFile('utf8'), steps)
      if (kept === undefined) throw new Error('it holds something else than the metrics of a training')
      await file.truncate(kept)
    } catch (thrown) {
      await file.close()
      throw thrown
    }
    const append = (value: object): Outcome<void> => TE.tryCatch(() => write(file, value), unwritable(path))
    return {
      step: append,
      validation: ({ step, ...validation }: Validation) => append({ step, validation }),
      sync: TE.tryCatch(() => file.sync(), unwritable(path)),
      close: () => file.close()
    }
  }, unwritable(path))
