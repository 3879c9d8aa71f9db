import type { DeviceModel } from '../device-model'
import { nanoseconds } from '../simulate'
import type { Emitter } from './emitter'

/** An emitter that keeps nothing but the time of what it is told to emit. */
export interface Stopwatch extends Emitter {
  readonly nanoseconds: () => number
}

export const stopwatch = (device: DeviceModel): Stopwatch => {
  let [total, times, buffers] = [0, 1, 0]
  return {
    buffer: (name, bytes, scope = 'local') => ({ id: buffers++, name, bytes, scope }),
    launch: (kernel) => {
      total += times * nanoseconds(device, kernel as never)
    },
    loop: (_, count, body) => {
      times *= count
      body()
      times /= count
    },
    code: () => [],
    nanoseconds: () => total
  }
}
