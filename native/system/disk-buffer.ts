import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { loadAddon } from '../addon/addon'
import { arrayBuffer, call, handleCodec } from '../addon/codecs'
import { decodeAnswer, type DeviceError } from '../addon/error'

declare const mapped: unique symbol
/** The I/O buffer of a section that lies in a file, and may be larger than JavaScript's can be. */
export interface MappedStepIo {
  readonly [mapped]: true
}

/** A buffer that lies in a file and not in memory, zeros at first. */
export interface DiskBuffer {
  /** What a session takes in place of an ArrayBuffer. */
  readonly stepIo: MappedStepIo
  /** Returns `bytes` of the buffer from `offset` on; no two parts may overlap. */
  readonly part: (offset: number, bytes: number) => ArrayBuffer
  /**
   * Takes what was touched of it out of the process's memory; a device may write to it meanwhile.
   * It stays in the file, and comes back where it is touched again.
   */
  readonly leaveToFile: () => void
  /**
   * Says whether single places are written from here on, each of which then brings one page into
   * memory, or all is read from the beginning.
   */
  readonly expectScattered: (isScattered: boolean) => void
}

const diskBufferAnswer = decodeAnswer(
  t.type({ stepIo: handleCodec<MappedStepIo>('an I/O buffer in a file'), part: call, leaveToFile: call, expectScattered: call })
)
const partAnswer = decodeAnswer(arrayBuffer)

const decodePart = (answer: unknown): ArrayBuffer => {
  const part = partAnswer(answer)
  if (E.isLeft(part)) throw new Error(part.left.message)
  return part.right
}

/**
 * The first `bytes` bytes of a file that can be written, whose name may be removed then. Fails
 * where the disk has no place for them.
 */
export const mapBuffer = (path: string, bytes: number): E.Either<DeviceError, DiskBuffer> =>
  pipe(
    loadAddon(),
    E.chain((addon) => diskBufferAnswer(addon.mapBuffer({ path, bytes }))),
    E.map(({ stepIo, part, leaveToFile, expectScattered }) => ({
      stepIo,
      part: (offset, length) => decodePart(part({ offset, bytes: length })),
      leaveToFile: () => void leaveToFile(),
      expectScattered: (isScattered) => void expectScattered(isScattered)
    }))
  )
