import type { DeviceModel } from '../../devices/device-model'
import type { Kernel, KernelKind } from '../../kernels/kernels'
import { nanoseconds, networkNanoseconds } from '../../devices/simulate'
import type { Builder } from '../ir/builder'

/** An emitter that keeps nothing but the time of what it is told to emit. */
export interface CostBuilder extends Builder {
  /** Nanoseconds of all launches and exchanges, or of the launches of a kind of kernel. */
  readonly nanoseconds: (kind?: KernelKind) => number
}

/** A cost builder that has emitted nothing, with a device's times of kernels. */
export const createCostBuilder = (device: DeviceModel): CostBuilder => {
  const totals = new Map<KernelKind, number>()
  let [times, buffers, exchanged] = [1, 0, 0]
  const launch = (kernel: Kernel): void => {
    totals.set(kernel.kind, (totals.get(kernel.kind) ?? 0) + times * nanoseconds(device, kernel))
  }
  const loop = (count: number, body: () => void): void => {
    times *= count
    body()
    times /= count
  }
  return {
    buffer: (identity, bytes, role = 'local') => ({ id: buffers++, identity, bytes, role }),
    launch,
    load: launch,
    copy: () => undefined,
    allToAll: (one) => void (exchanged += networkNanoseconds(device, { kind: 'allToAll', ...one })),
    exchange: (one) => void (exchanged += networkNanoseconds(device, { kind: 'exchange', ...one })),
    ownSlice: () => undefined,
    networkLaunch: () => undefined,
    freshEvent: () => 0,
    record: () => undefined,
    wait: () => undefined,
    loop: (_, count, body) => loop(count, body),
    pairs: (_, count, body) => loop(count, () => body(0)),
    seed: () => undefined,
    code: () => [],
    timepoint: () => undefined,
    timepoints: () => new Map(),
    nanoseconds: (kind) => (kind === undefined ? [...totals.values()].reduce((sum, one) => sum + one, exchanged) : (totals.get(kind) ?? 0))
  }
}
