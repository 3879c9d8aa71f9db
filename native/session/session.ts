import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as TE from 'fp-ts/TaskEither'
import * as t from 'io-ts'
import { markAsUntransferable } from 'node:worker_threads'
import type { Program, SectionName } from '../../staging/program/program'
import type { Precision } from '../../staging/kernels/precision'
import { loadAddon, nativeSession, type DeviceName, type MathMode, type NativeSession } from '../addon/addon'
import { float64Array, promise } from '../addon/codecs'
import { encodeProgram, type EncodedProgram } from './encode'
import { decodeAnswer, type DeviceError } from '../addon/error'
import type { Network, NetworkHandle } from '../network/network'
import type { MappedStepIo } from '../system/disk-buffer'
import { type MappedPixels, freePixels } from '../system/pixels'

/** Part of an image, in its pixels. */
export interface ImageWindow {
  readonly top: number
  readonly left: number
  readonly height: number
  readonly width: number
}

/** Pixels that are read while a section runs: each window when a kernel needs it, one at a time. */
export interface ReadPixels {
  /** Bytes of a window, unless one pixel is more. */
  readonly windowBytes: number
  /** What of the file is decoded at a time: windows end where such tiles do. 1x1 of one without. */
  readonly tile: { readonly height: number; readonly width: number }
  /**
   * [height, width, channels] of the window, which are freed then, or one sentence, which fails the
   * section.
   */
  readonly readWindow: (window: ImageWindow) => TE.TaskEither<{ readonly message: string }, Uint8Array>
}

/** What a channel of a pixel is stored as, in the machine's order of bytes. */
export type PixelType = 'uint8' | 'uint16' | 'int16' | 'float32'

/**
 * One image, interleaved [height, width, channels], with the crop's corner and what this step does
 * to the crop.
 */
export interface Image {
  /** uint8 where absent. */
  readonly elementType?: PixelType
  readonly pixels: Uint8Array | MappedPixels | ReadPixels
  /** Whether the run takes the Uint8Array for its own, and frees it in the end. */
  readonly isHandedOver?: true
  readonly height: number
  readonly width: number
  readonly channels: number
  readonly cropTop: number
  readonly cropLeft: number
  readonly flipHorizontal: boolean
  readonly flipVertical: boolean
  /**
   * Counter-clockwise, after the flips. For 1 and 3 the crop in the image is as wide as the
   * network's input is high.
   */
  readonly quarterTurns: 0 | 1 | 2 | 3
  /**
   * [3, 4] row by row: takes (red, green, blue, 1), each within 0 .. 1, to the new three, clamped
   * to 0 .. 1. Of 3 channels of uint8 only.
   */
  readonly colour?: Float32Array
}

/**
 * Parameters that change from run to run. `step` counts from 0: steps in the section `step`,
 * updates in `update`.
 */
export interface StepParameters {
  readonly learningRate: number
  readonly step: number
  readonly seed: number
}

/** A program on a device with its arena. Sections run one at a time, off the main thread. */
export interface Session {
  /**
   * Milliseconds that the section took. `stepIo` holds at least the section's stepIoBytes;
   * `images` a batch, where it loads any. What they are when the run begins counts. Their buffers
   * can be transferred to no other thread from then on.
   */
  readonly run: (
    section: SectionName,
    stepIo: ArrayBuffer | MappedStepIo,
    parameters: StepParameters,
    images: readonly Image[]
  ) => TE.TaskEither<DeviceError, number>
  /**
   * Reads images, also while a section runs, for the next run that is given the very same ones, so
   * that a GPU does not wait for them then; what they are now counts. On the CPU nothing is to do,
   * nor for those that are read by windows.
   */
  readonly prepare: (images: readonly Image[]) => TE.TaskEither<DeviceError, void>
  /** Settles once nothing is being prepared, and so holds on to what close gives back. */
  readonly settle: () => Promise<void>
  /** Ends the section under way before its next instruction, with code `interrupted`. */
  readonly interrupt: () => void
  /**
   * Returns the bytes of the arena up to the highest one that anything wrote so far; read it
   * between runs. After close, as it was then.
   */
  readonly measuredPeakBytes: () => number
  /** Returns the peak of the host pool in bytes. */
  readonly measuredHostPeakBytes: () => number
  /**
   * Returns tiles of all runs so far whose images, read by windows, were plain and those of the
   * tile before, so that what had been computed of it served; read it between runs.
   */
  readonly repeatedTiles: () => number
  /**
   * Returns milliseconds of launches so far, by kernel of the program, where `timesKernels`; else
   * an empty list. Read it between runs.
   */
  readonly kernelMilliseconds: () => readonly number[]
  /**
   * Returns when each engine (compute, to-device, to-host, network) began and ended its launches,
   * copies and maps of the latest section that ended, in turn, in nanoseconds of the machine's
   * steady clock; empty lists where nothing is traced. Read it between runs.
   */
  readonly timestamps: () => readonly Float64Array[]
  /** Gives the arena and the host pool back, once a run under way and preparations have ended. */
  readonly close: () => void
}

/** The program that a session runs, and the device and memory (in bytes) that it takes. */
export interface SessionOptions {
  readonly device: DeviceName
  /** float32 where absent. */
  readonly math?: MathMode
  readonly program: Program
  /** The budget: the arena is exactly this large. */
  readonly arenaBytes: number
  /**
   * Limit in bytes per second of either direction between the device and the host pool; unlimited
   * where absent.
   */
  readonly linkBytesPerSecond?: number
  /** Measures the time of each launch. */
  readonly timesKernels?: boolean
  /** Notes when each launch, copy and map begins and ends. */
  readonly traces?: boolean
  /**
   * The network of the ranks that the program exchanges with; absent where it exchanges nothing.
   */
  readonly network?: Network
}

/** Opens a session on a program that is in numbers already: what a test damages. */
export interface EncodedSessionOptions extends EncodedProgram {
  readonly device: DeviceName
  readonly math: MathMode
  readonly precision: Precision
  readonly arenaBytes: number
  /** 0: unlimited. */
  readonly linkBytesPerSecond: number
  readonly timesKernels: boolean
  readonly traces: boolean
  readonly network?: NetworkHandle
}

const kernelTimesAnswer = decodeAnswer(t.readonlyArray(t.number))
const timestampsAnswer = decodeAnswer(t.readonlyArray(float64Array))
const peakAnswer = decodeAnswer(t.number)
const countAnswer = decodeAnswer(t.number)
const runAnswer = decodeAnswer(t.number)
const preparedAnswer = decodeAnswer(t.void)
const promiseAnswer = decodeAnswer(promise)

const pinPixels = (images: readonly Image[]): void => {
  for (const { pixels } of images) if (pixels instanceof Uint8Array) markAsUntransferable(pixels.buffer)
}

/**
 * Buffers that the addon reads and writes off the main thread: given to another thread, they would
 * be freed there.
 */
const pin = (stepIo: ArrayBuffer | MappedStepIo, images: readonly Image[]): void => {
  if (stepIo instanceof ArrayBuffer) markAsUntransferable(stepIo)
  pinPixels(images)
}

const isRead = (pixels: Image['pixels']): pixels is ReadPixels => 'readWindow' in pixels

/** The image as the addon takes it; `onRefused` is told each sentence in place of pixels. */
const asGiven =
  (onRefused: (sentence: string) => void) =>
  (image: Image): object => {
    const { pixels } = image
    if (!isRead(pixels)) return image
    const { windowBytes, tile, readWindow } = pixels
    const refuse = (sentence: string): string => (onRefused(sentence), sentence)
    const read = (top: number, left: number, height: number, width: number, answer: (given: Uint8Array | string) => void): void => {
      readWindow({ top, left, height, width })().then(
        E.fold(
          ({ message }) => answer(refuse(message)),
          (given) => {
            answer(given)
            freePixels(given)
          }
        ),
        (thrown: unknown) => answer(refuse(String(thrown)))
      )
    }
    return { ...image, pixels: { windowBytes, tile, read } }
  }

const interrupts = new Set<() => void>()

/** One listener for all runs: more than ten are warned of. */
const interruptAtExit = (interrupt: () => void): void => {
  if (interrupts.size === 0) process.once('exit', interruptAll)
  interrupts.add(interrupt)
}
const interruptAll = (): void => interrupts.forEach((interrupt) => interrupt())
const forgetInterrupt = (interrupt: () => void): void => {
  interrupts.delete(interrupt)
  if (interrupts.size === 0) process.off('exit', interruptAll)
}

/** Images that were read before the run that is given them. */
interface Prepared {
  readonly number: number
  readonly images: readonly Image[]
}

const createSession = (native: NativeSession): Session => {
  let prepared: Prepared | undefined
  let [preparations, preparing] = [0, Promise.resolve()]
  /** The number of what was prepared for a run of these images, once; 0 where nothing was. */
  const takePrepared = (images: readonly Image[]): number => {
    if (images.length === 0) return 0
    const found = prepared
    prepared = undefined
    const isSame = found?.images.length === images.length && found.images.every((image, index) => image === images[index])
    return found !== undefined && isSame ? found.number : 0
  }
  let closed: readonly [device: number, host: number] | undefined
  const peaks = (): readonly [device: number, host: number] => {
    const bytes = (answer: unknown): number => E.getOrElse(() => 0)(peakAnswer(answer))
    return closed ?? [bytes(native.measuredPeakBytes()), bytes(native.measuredHostPeakBytes())]
  }
  const interrupt = (): void => {
    native.interrupt()
  }
  return {
    // Starts at once rather than in a microtask, so that an interrupt right after it is not lost.
    run: (section, stepIo, parameters, images) => async () => {
      let refused: string | undefined
      const given = images.map(asGiven((sentence) => (refused = sentence)))
      const started = promiseAnswer(native.run(section, stepIo, { ...parameters, images: given, prepared: takePrepared(images) }))
      if (E.isLeft(started)) return started
      pin(stepIo, images)
      // Node waits for its threads when it exits: end the run rather than hang.
      interruptAtExit(interrupt)
      const answer = runAnswer(await started.right)
      forgetInterrupt(interrupt)
      const handedOver = images.flatMap(({ pixels, isHandedOver }) => (isHandedOver && pixels instanceof Uint8Array ? [pixels] : []))
      if (handedOver.length > 0) await preparing
      handedOver.forEach(freePixels)
      // What the device was refused is no fault of the device's.
      return E.mapLeft((error: DeviceError): DeviceError => (error.message === refused ? { ...error, code: 'image' } : error))(answer)
    },
    prepare: (images) => async () => {
      if (images.length === 0 || images.some(({ pixels }) => isRead(pixels))) return E.right(undefined)
      preparations += 1
      const number = preparations
      const started = promiseAnswer(native.prepare({ number, images }))
      if (E.isLeft(started)) return started
      pinPixels(images)
      const done = started.right.then(preparedAnswer)
      preparing = Promise.all([preparing, done]).then(() => undefined)
      const answer = await done
      if (E.isRight(answer) && number === preparations) prepared = { number, images }
      return answer
    },
    settle: () => preparing,
    interrupt,
    measuredPeakBytes: () => peaks()[0],
    measuredHostPeakBytes: () => peaks()[1],
    repeatedTiles: () => E.getOrElse(() => 0)(countAnswer(native.repeatedTiles())),
    kernelMilliseconds: () => E.getOrElse((): readonly number[] => [])(kernelTimesAnswer(native.kernelMilliseconds())),
    timestamps: () => E.getOrElse((): readonly Float64Array[] => [])(timestampsAnswer(native.timestamps?.())),
    close: () => {
      closed = peaks()
      native.close()
    }
  }
}

/**
 * Checks the whole program, compiles its kernels and maps the arena; fails with a sentence when
 * anything does not fit.
 */
export const openEncoded = (options: EncodedSessionOptions): E.Either<DeviceError, Session> =>
  pipe(
    loadAddon(),
    E.chain((addon) => decodeAnswer(nativeSession)(addon.openSession(options))),
    E.map(createSession)
  )

/**
 * Opens a session of a program: checks it once more in C++, compiles its kernels and maps the
 * arena. Fails with one sentence, by code `missing`, `memory`, `threads` or `device`.
 */
export const openSession = ({
  device,
  math = 'float32',
  program,
  arenaBytes,
  linkBytesPerSecond = 0,
  timesKernels = false,
  traces = false,
  network
}: SessionOptions): E.Either<DeviceError, Session> =>
  openEncoded({
    ...encodeProgram(program),
    device,
    math,
    precision: program.precision,
    arenaBytes,
    linkBytesPerSecond,
    timesKernels,
    traces,
    ...(network === undefined ? {} : { network: network.handle })
  })
