import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as TE from 'fp-ts/TaskEither'
import * as t from 'io-ts'
import { markAsUntransferable } from 'node:worker_threads'
import type { Program, SectionName } from '../../staging/program/program'
import type { Precision } from '../../staging/kernels/precision'
import { loadAddon, nativeSession, type DeviceName, type MathMode, type NativeSession } from '../addon/addon'
import { float64Array } from '../addon/codecs'
import { encodeProgram, type EncodedProgram } from './encode'
import { decodeAnswer, deviceError, promiseAnswer, type DeviceError } from '../addon/error'
import type { Network, NetworkHandle } from '../network/network'
import type { MappedStepIo } from '../system/disk-buffer'
import { freePixels } from '../system/pixels'
import { createPreparations } from './preparations'
import { type Image, asGiven, isRead, pinPixels } from './image'
import { giveBackPlace, noPlaces, takePlace } from './reading-places'

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
  /** The arena is exactly this large: the program's peak, or more. */
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

/**
 * Buffers that the addon reads and writes off the main thread: given to another thread, they would
 * be freed there.
 */
const pin = (stepIo: ArrayBuffer | MappedStepIo, images: readonly Image[]): void => {
  if (stepIo instanceof ArrayBuffer) markAsUntransferable(stepIo)
  pinPixels(images)
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
  const preparations = createPreparations(native)
  let closed: readonly [device: number, host: number] | undefined
  const peaks = (): readonly [device: number, host: number] => {
    const bytes = (answer: unknown): number => E.getOrElse(() => 0)(peakAnswer(answer))
    return closed ?? [bytes(native.measuredPeakBytes()), bytes(native.measuredHostPeakBytes())]
  }
  let leaveQueue = (): void => undefined
  const interrupt = (): void => {
    leaveQueue()
    native.interrupt()
  }
  // Starts at once rather than in a microtask, so that an interrupt right after it is not lost.
  const run: Session['run'] = (section, stepIo, parameters, images) => async () => {
    let refused: string | undefined
    const given = images.map(asGiven((sentence) => (refused = sentence)))
    const started = promiseAnswer(native.run(section, stepIo, { ...parameters, images: given, prepared: preparations.take(images) }))
    const handedOver = images.flatMap(({ pixels, isHandedOver }) => (isHandedOver && pixels instanceof Uint8Array ? [pixels] : []))
    // Not while they are prepared.
    const free = async (): Promise<void> => {
      if (handedOver.length > 0) await preparations.settle()
      handedOver.forEach(freePixels)
    }
    if (E.isLeft(started)) {
      await free()
      return started
    }
    pin(stepIo, images)
    // Node waits for its threads when it exits: end the run rather than hang.
    interruptAtExit(interrupt)
    const answer = runAnswer(await started.right)
    forgetInterrupt(interrupt)
    await free()
    // What the device was refused is no fault of the device's.
    return E.mapLeft((error: DeviceError): DeviceError => (error.message === refused ? { ...error, code: 'image' } : error))(answer)
  }
  const runReading: Session['run'] = (section, stepIo, parameters, images) => async () => {
    const why = noPlaces()
    if (why !== undefined) return E.left(deviceError('device', why))
    const place = takePlace((leave) => (leaveQueue = leave))
    if (place !== true && !(await place)) return E.left(deviceError('interrupted', `section ${section} was interrupted before it began`))
    try {
      return await run(section, stepIo, parameters, images)()
    } finally {
      giveBackPlace()
    }
  }
  return {
    run: (section, stepIo, parameters, images) =>
      (images.some(({ pixels }) => isRead(pixels)) ? runReading : run)(section, stepIo, parameters, images),
    prepare: preparations.prepare,
    settle: preparations.settle,
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
