import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { elementCount } from '../../staging/graph/extents'
import type { Program } from '../../staging'
import { stepIoElementBytes, type StepIoEntry } from '../../staging/program/program'
import type { Outcome } from '../failure'
import type { Extent2 } from '../images/resolution'
import { outputBuffer } from '../running/run-in-turn'
import { type StepIo, createStepIo, partBytes } from '../../native'
import type { WindowSpan } from '../running/window-spans'
import type { Outputs } from './outputs'

/** The outputs of a whole image, which grow window by window. */
export interface JoinedOutputs extends Outputs {
  /** Copies what a window's step has left, as far as it is taken. */
  readonly add: (window: Pick<StepIo, 'view' | 'leaveToFile'>, rows: WindowSpan, columns: WindowSpan) => void
}

/** Bytes that are copied before they are taken out of memory. */
const copiedAtOnce = 2 ** 24

/** The classes of pixels, or their scores, [..., height, width] in the end. */
const pixelEntry = ({ step }: Pick<Program, 'step'>): StepIoEntry =>
  step.stepIo.find(({ name }) => name === 'classes') ?? step.stepIo.find(({ name }) => name === 'scores')!

const writeAt = (parts: readonly Uint8Array[], at: number, bytes: Uint8Array): void => {
  for (let from = 0; from < bytes.length;) {
    const [part, offset] = [Math.floor((at + from) / partBytes), (at + from) % partBytes]
    const to = Math.min(bytes.length, from + partBytes - offset)
    parts[part]!.set(bytes.subarray(from, to), offset)
    from = to
  }
}

/**
 * Room for the outputs of an image of such an extent, of which steps of `program` make windows: in
 * a file where it is large.
 */
export const joinWindows = (program: Pick<Program, 'step'>, { height, width }: Extent2): Outcome<JoinedOutputs> => {
  const entry = pixelEntry(program)
  const planes = entry.shape.slice(0, -2)
  const [high, wide] = entry.shape.slice(-2) as [number, number]
  const shape = [...planes, height, width]
  const elementBytes = stepIoElementBytes(entry.type)
  const stepIoBytes = elementBytes * elementCount(shape)
  const entries = [{ ...entry, shape, offset: 0 }]
  const planeCount = elementCount(planes)
  return pipe(
    outputBuffer('what is predicted of an image by windows', stepIoBytes),
    TE.map((disk) => {
      const io = createStepIo({ code: [], stepIoBytes, stepIo: entries }, disk)
      return {
        entries,
        io,
        add: (window, rows, columns) => {
          const parts = io.parts(entry.name)
          const { buffer, byteOffset } = window.view(entry.name)
          const bytes = (columns.to - columns.from) * elementBytes
          let copied = 0
          for (let plane = 0; plane < planeCount; plane += 1)
            for (let row = rows.from; row < rows.to; row += 1) {
              const from = ((plane * high + row - rows.start) * wide + columns.from - columns.start) * elementBytes
              writeAt(
                parts,
                ((plane * height + row) * width + columns.from) * elementBytes,
                new Uint8Array(buffer, byteOffset + from, bytes)
              )
              copied += bytes
              if (copied < copiedAtOnce) continue
              copied = 0
              window.leaveToFile()
              io.leaveToFile()
            }
          window.leaveToFile()
          io.leaveToFile()
        }
      }
    })
  )
}
