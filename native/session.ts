import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as TE from 'fp-ts/TaskEither'
import * as t from 'io-ts'
import { markAsUntransferable } from 'node:worker_threads'
import type { Program, SectionName } from '../staging/program/program'
import type { Precision } from '../staging/kernels/precision'
import { loadAddon, nativeSession, type DeviceName, type MathMode, type NativeSession } from './addon'
import { encodeProgram, type EncodedProgram } from './encode'
import { answerOf, type DeviceError } from './error'
import type { MappedPixels } from './pixels'

/**
 * One uint8 image, interleaved [height, width, channels], with the crop's corner and what this step
 * does to the crop.
 */
export interface Image {
  readonly pixels: Uint8Array | MappedPixels
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
   * to 0 .. 1. Of 3 channels only.
   */
  readonly colour?: Float32Array
}

/**
 * What changes from run to run. `step` counts from 0: steps in the section `step`, updates in
 * `update`.
 */
export interface StepParameters {
  readonly learningRate: number
  readonly step: number
  readonly seed: number
}

/** A program on a device with its arena. Sections run one at a time, off the main thread. */
export interface Session {
  /**
   * Milliseconds that the section took. `exchange` holds at least the section's exchangeBytes;
   * `images` a batch, where it loads any. What they are when the run begins counts. Their buffers
   * can be transferred to no other thread from then on.
   */
  readonly run: (
    section: SectionName,
    exchange: ArrayBuffer,
    parameters: StepParameters,
    images: readonly Image[]
  ) => TE.TaskEither<DeviceError, number>
  /** Ends the section under way before its next instruction, with code `interrupted`. */
  readonly interrupt: () => void
  /**
   * Bytes up to the highest one that anything wrote in the arena so far; read it between runs.
   * After close, as it was then.
   */
  readonly measuredPeakBytes: () => number
  /** Of the host pool, in bytes. */
  readonly measuredHostPeakBytes: () => number
  /**
   * By kernel of the program: milliseconds of its launches so far, where `timesKernels`; else
   * empty. Read it between runs.
   */
  readonly kernelMilliseconds: () => readonly number[]
  /** Gives the arena and the host pool back, once a run under way has ended. */
  readonly close: () => void
}

export interface SessionOptions {
  readonly device: DeviceName
  /** float32 where absent. */
  readonly math?: MathMode
  readonly program: Program
  /** The budget: the arena is exactly this large. */
  readonly arenaBytes: number
  /** Of either direction between the device and the host pool; unlimited where absent. */
  readonly linkBytesPerSecond?: number
  /** Whether each launch's time is measured. */
  readonly timesKernels?: boolean
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
}

const kernelTimesAnswer = answerOf(t.readonlyArray(t.number))
const peakAnswer = answerOf(t.number)
const runAnswer = answerOf(t.number)
const promiseAnswer = answerOf(
  new t.Type<Promise<unknown>>(
    'promise',
    (value): value is Promise<unknown> => value instanceof Promise,
    (value, context) => (value instanceof Promise ? t.success(value as Promise<unknown>) : t.failure(value, context)),
    t.identity
  )
)

/**
 * Buffers that the addon reads and writes off the main thread: given to another thread, they would
 * be freed there.
 */
const pin = (exchange: ArrayBuffer, images: readonly Image[]): void => {
  markAsUntransferable(exchange)
  for (const { pixels } of images) if (pixels instanceof Uint8Array) markAsUntransferable(pixels.buffer)
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

const createSession = (native: NativeSession): Session => {
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
    run: (section, exchange, parameters, images) => async () => {
      const started = promiseAnswer(native.run(section, exchange, { ...parameters, images }))
      if (E.isLeft(started)) return started
      pin(exchange, images)
      // Node waits for its threads when it exits: end the run rather than hang.
      interruptAtExit(interrupt)
      const answer = runAnswer(await started.right)
      forgetInterrupt(interrupt)
      return answer
    },
    interrupt,
    measuredPeakBytes: () => peaks()[0],
    measuredHostPeakBytes: () => peaks()[1],
    kernelMilliseconds: () => E.getOrElse((): readonly number[] => [])(kernelTimesAnswer(native.kernelMilliseconds())),
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
    E.chain((addon) => answerOf(nativeSession)(addon.openSession(options))),
    E.map(createSession)
  )

export const openSession = ({
  device,
  math = 'float32',
  program,
  arenaBytes,
  linkBytesPerSecond = 0,
  timesKernels = false
}: SessionOptions): E.Either<DeviceError, Session> =>
  openEncoded({ ...encodeProgram(program), device, math, precision: program.precision, arenaBytes, linkBytesPerSecond, timesKernels })
