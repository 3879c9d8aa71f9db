import type { DeviceName } from '../../native'
import type { DevicePrecision } from '../../staging'

/**
 * The devices of a machine, and what each computes in, its default first. tf32: float32 values, of
 * whose products 10 bits of mantissa count. bf16: activations of 8 bits of mantissa in two bytes,
 * all else float32.
 */
export const devicePrecisions = {
  cpu: ['float32', 'bf16'],
  cuda: ['float32', 'tf32', 'bf16'],
  reference: ['float64', 'float32', 'bf16']
} as const satisfies { readonly [D in DeviceName]: readonly DevicePrecision[] }

/** The names of all devices, in the order of help. */
export const deviceNames = Object.keys(devicePrecisions) as readonly DeviceName[]

/** Every precision that some device computes in, each once. */
export const precisionNames: readonly DevicePrecision[] = [...new Set<DevicePrecision>(Object.values(devicePrecisions).flat())]

/** Tells whether a value is the name of a device. */
export const isDeviceName = (value: unknown): value is DeviceName => deviceNames.some((name) => name === value)

/** The devices of this machine that compute in a precision. */
export const listDevices = (precision: DevicePrecision): readonly DeviceName[] =>
  deviceNames.filter((name) => (devicePrecisions[name] as readonly DevicePrecision[]).includes(precision))
