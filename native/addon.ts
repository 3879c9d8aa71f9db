import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { answerOf, deviceError, type DeviceError } from './error'

/** Calls of the addon answer `{ value }` or `{ error }`; decode them with `answerOf`. */
type Call = (...values: readonly unknown[]) => unknown

const isCall = (value: unknown): value is Call => typeof value === 'function'
const call = new t.Type<Call>(
  'function',
  isCall,
  (value, context) => (isCall(value) ? t.success(value) : t.failure(value, context)),
  t.identity
)

export const nativeSession = t.readonly(
  t.type({ run: call, interrupt: call, measuredPeakBytes: call, measuredHostPeakBytes: call, kernelMilliseconds: call, close: call }),
  'session'
)
export type NativeSession = t.TypeOf<typeof nativeSession>

export const nativeDevice = t.readonly(
  t.type({
    scratchBytes: call,
    winnersBytes: call,
    activationLayout: call,
    weightLayouts: call,
    milliseconds: call,
    linkBytesPerSecond: call
  }),
  'device'
)
export type NativeDevice = t.TypeOf<typeof nativeDevice>

const addonCodec = t.readonly(
  t.type({ openSession: call, openDevice: call, kernelTable: call, layoutTable: call, versions: call }),
  'Tilefold addon'
)
export type Addon = t.TypeOf<typeof addonCodec>

const addonFile = join(__dirname, 'build', 'Release', 'tilefold.node')
const buildCommand = 'npm run build'

const load = (): E.Either<DeviceError, Addon> => {
  if (!existsSync(addonFile)) return E.left(deviceError('missing', `the native addon is not built: build it with "${buildCommand}"`))
  return pipe(
    E.tryCatch(
      () => ({ value: createRequire(__filename)(addonFile) as unknown }),
      (error) => deviceError('missing', `the native addon cannot be loaded (${String(error)}): build it again with "${buildCommand}"`)
    ),
    E.chain(answerOf(addonCodec))
  )
}

let loaded: E.Either<DeviceError, Addon> | undefined

/** The addon, loaded at its first use so that staging works without it. */
export const loadAddon = (): E.Either<DeviceError, Addon> => (loaded ??= load())

/** The cpu device, to be asked about kernels. */
export const openCpuDevice = (threads: number): E.Either<DeviceError, NativeDevice> =>
  pipe(
    loadAddon(),
    E.chain((addon) => answerOf(nativeDevice)(addon.openDevice({ device: 'cpu', precision: 'float32', threads })))
  )

const versionsCodec = t.readonly(
  t.type({ library: t.string, version: t.string, instructionSet: t.string, processors: t.number }),
  'versions'
)

/** Library behind the cpu device, its version and instruction set; processors of the machine. */
export type Versions = t.TypeOf<typeof versionsCodec>

export const versions = (): E.Either<DeviceError, Versions> =>
  pipe(
    loadAddon(),
    E.chain((addon) => answerOf(versionsCodec)(addon.versions()))
  )
