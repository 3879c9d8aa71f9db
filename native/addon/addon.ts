import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { createRequire } from 'node:module'
import { types } from 'node:util'
import { storedPrecision, type DevicePrecision } from '../../staging/kernels/precision'
import { addonFile } from './addon-file'
import { findDifference } from './built-tables'
import { call } from './codecs'
import { decodeAnswer, deviceError, rebuildRemedy, type DeviceError } from './error'
import { hashFile } from './hash-file'
import { loadFailure } from './prebuilt'

/** Codec of a session as the addon opens it: its calls, whose answers are decoded one by one. */
export const nativeSession = t.readonly(
  t.intersection([
    t.type({
      run: call,
      prepare: call,
      interrupt: call,
      measuredPeakBytes: call,
      measuredHostPeakBytes: call,
      repeatedTiles: call,
      kernelMilliseconds: call,
      close: call
    }),
    // Where the session traces.
    t.partial({ timestamps: call })
  ]),
  'session'
)
/** A session of the addon, whose answers are not decoded yet. */
export type NativeSession = t.TypeOf<typeof nativeSession>

const nativeDevice = t.readonly(
  t.type({
    scratchBytes: call,
    indicesBytes: call,
    activationLayout: call,
    weightLayouts: call,
    milliseconds: call,
    linkBytesPerSecond: call,
    algorithms: call,
    properties: call
  }),
  'device'
)
/** A device of the addon that is asked about kernels; its answers are not decoded yet. */
export type NativeDevice = t.TypeOf<typeof nativeDevice>

const addonCalls = {
  openSession: call,
  openNetwork: call,
  localNetworks: call,
  openDevice: call,
  lockFile: call,
  unlockFile: call,
  mapBuffer: call,
  mapPixels: call,
  freePixels: call,
  openSlide: call,
  kernelTable: call,
  layoutTable: call,
  versions: call,
  watchInterrupts: call,
  availableMemory: call
}
const addonCodec = t.readonly(t.type(addonCalls))
type Addon = t.TypeOf<typeof addonCodec>

/**
 * Rounds in which a thread that waits for its team looks again before it sleeps, about a tenth of a
 * millisecond. In libgomp's own 300,000 it takes, wherever the two share a core, a time slice from
 * the one that it waits for, kernel after kernel.
 */
const spinRounds = '3000'

/** libgomp reads the environment once, when the addon is loaded; what is set there counts. */
const withShortSpins = <A>(load: () => A): A => {
  if (process.env.GOMP_SPINCOUNT !== undefined || process.env.OMP_WAIT_POLICY !== undefined) return load()
  process.env.GOMP_SPINCOUNT = spinRounds
  try {
    return load()
  } finally {
    delete process.env.GOMP_SPINCOUNT
  }
}

const missingAddon = (sentence: string): DeviceError => deviceError('missing', sentence)

/** An addon of other sources would be told of kernels by codes that mean others to it. */
const checkBuilt =
  (path: string) =>
  (built: unknown): E.Either<DeviceError, Addon> => {
    const answers = Object(built) as Readonly<Record<string, unknown>>
    const lacking = Object.keys(addonCalls).find((name) => !call.is(answers[name]))
    const difference = lacking ?? (addonCodec.is(built) ? findDifference(built) : undefined)
    return difference === undefined && addonCodec.is(built)
      ? E.right(built)
      : E.left(missingAddon(`the native addon ${path} was built from other sources than these (${difference} differs): ${rebuildRemedy}`))
  }

const load = (): E.Either<DeviceError, Addon> =>
  pipe(
    addonFile(),
    E.mapLeft(missingAddon),
    E.chain((path) =>
      pipe(
        E.tryCatch(
          () => withShortSpins(() => createRequire(__filename)(path) as unknown),
          (error) => missingAddon(loadFailure(path, types.isNativeError(error) ? error.message : String(error)))
        ),
        E.chain(checkBuilt(path))
      )
    )
  )

let loaded: E.Either<DeviceError, Addon> | undefined

/** A hash of the addon's file: builds of one version may differ. */
export const addonHash = (): E.Either<DeviceError, string> =>
  pipe(
    addonFile(),
    E.chain((path) => E.tryCatch(() => hashFile(path).slice(0, 12), String)),
    E.mapLeft(missingAddon)
  )

/** The addon, loaded at its first use so that staging works without it. */
export const loadAddon = (): E.Either<DeviceError, Addon> => (loaded ??= load())

/**
 * The devices that run a program: plain loops as an oracle, oneDNN and loops of Tilefold's own, or
 * a GPU of NVIDIA.
 */
export type DeviceName = 'reference' | 'cpu' | 'cuda'

/**
 * The precision in which products of float32 values are computed; tf32 is of the cuda device alone.
 */
export type MathMode = 'float32' | 'tf32'

/** The math of products in a precision of a device: tf32 where that is asked for, else float32. */
export const mathMode = (precision: DevicePrecision | undefined): MathMode => (precision === 'tf32' ? precision : 'float32')

/** A device to be asked about kernels. */
export interface DeviceChoice {
  readonly device: 'cpu' | 'cuda'
  readonly precision: DevicePrecision
  readonly threads: number
}

const opened = new Map<string, E.Either<DeviceError, NativeDevice>>()

/**
 * Opens a device to be asked about kernels, each once: a GPU takes some tenths of a second for it.
 */
export const openDevice = (choice: DeviceChoice): E.Either<DeviceError, NativeDevice> => {
  const { device, precision, threads } = choice
  const key = JSON.stringify([device, precision, threads])
  const found =
    opened.get(key) ??
    pipe(
      loadAddon(),
      E.chain((addon) =>
        decodeAnswer(nativeDevice)(addon.openDevice({ device, precision: storedPrecision(precision), math: mathMode(precision), threads }))
      )
    )
  opened.set(key, found)
  return found
}

const propertiesCodec = t.readonly(
  t.type({
    name: t.string,
    library: t.string,
    flopsPerSecond: t.number,
    bytesPerSecond: t.number,
    launchSeconds: t.number,
    multiprocessors: t.number,
    memoryBytes: t.number
  }),
  'properties'
)

/**
 * A GPU by name, the libraries behind it with their versions, what it sustains, roughly, and its
 * memory.
 */
export type DeviceProperties = t.TypeOf<typeof propertiesCodec>

/**
 * Asks an open GPU for its name, libraries, rates a second and memory in bytes.
 * Fails with code `device` where the driver does not answer.
 */
export const deviceProperties = (device: NativeDevice): E.Either<DeviceError, DeviceProperties> =>
  decodeAnswer(propertiesCodec)(device.properties())

const versionsCodec = t.readonly(
  t.type({ library: t.string, version: t.string, instructionSet: t.string, processors: t.number }),
  'versions'
)

/** Library behind the cpu device, its version and instruction set; processors of the machine. */
export type Versions = t.TypeOf<typeof versionsCodec>

/**
 * Asks the addon for the library behind the cpu device and for this machine's processors. Fails
 * with code `missing` where there is no addon.
 */
export const versions = (): E.Either<DeviceError, Versions> =>
  pipe(
    loadAddon(),
    E.chain((addon) => decodeAnswer(versionsCodec)(addon.versions()))
  )

const availableCodec = t.union([t.null, t.readonly(t.type({ bytes: t.number, bound: t.string }))], 'available memory')

/**
 * Bytes that this process can still take, the smallest of the limits by machine, memory cgroups and
 * ulimits, and in words which of them it is; null where the system does not say.
 */
type AvailableMemory = t.TypeOf<typeof availableCodec>

/**
 * Asks the addon for the bytes of memory that this process can still take, and what bounds them;
 * null where the system does not say. Fails with code `missing` where there is no addon.
 */
export const availableMemory = (): E.Either<DeviceError, AvailableMemory> =>
  pipe(
    loadAddon(),
    E.chain((addon) => decodeAnswer(availableCodec)(addon.availableMemory()))
  )
