import type { DeviceModel, LinkRates } from './device-model'
import { allToAllNanoseconds, exchangeNanoseconds, type TimedAllToAll, type TimedExchange } from './network'
import type { Kernel } from '../kernels/kernels'
import type { Copy, Engine, Instruction } from '../program/program'

/** The part of an instruction, before or after placement, from which its time is known. */
export type Timed =
  | { readonly kind: 'launch'; readonly kernel: number; readonly engine?: Engine }
  | { readonly kind: 'loop'; readonly count: number; readonly body: readonly Timed[] }
  | ({ readonly kind: 'copy' } & Pick<Copy, 'engine' | 'rows' | 'rowBytes'>)
  | { readonly kind: 'record' | 'wait'; readonly engine: Engine; readonly event: number }
  | ({ readonly kind: 'allToAll' } & TimedAllToAll)
  | ({ readonly kind: 'exchange' } & TimedExchange)
  | { readonly kind: 'ownSlice' | 'map' | 'unmap'; readonly bytes: number }

const synchronises = (code: readonly Timed[]): boolean =>
  code.some((one) => (one.kind === 'loop' ? synchronises(one.body) : one.kind !== 'launch' || one.engine !== undefined))

/**
 * Predicts nanoseconds of a call that maps or unmaps memory with all of its pages: those that Linux
 * takes for pages of 4 KiB (docs/benchmarks.md).
 */
const mapNanoseconds = (bytes: number): number => Math.round(2000 + 0.025 * bytes)

/**
 * Predicted time of one launch. Whole numbers, so that sums are exact and do not depend on their
 * order.
 */
export const nanoseconds = (device: DeviceModel, kernel: Kernel): number => Math.round(1e6 * device.milliseconds(kernel))

/** Predicted time of what ranks exchange. */
export const networkNanoseconds = (
  { network }: Pick<DeviceModel, 'network'>,
  one: Extract<Timed, { readonly kind: 'allToAll' | 'exchange' }>
): number => {
  if (network === undefined) return 0
  return one.kind === 'allToAll' ? allToAllNanoseconds(one, network) : exchangeNanoseconds(one, network)
}

/** Told of what is simulated, as it goes. */
interface Watch<T> {
  /** An engine is busy with launches, copies or maps: `times` of them. */
  readonly span: (one: T, engine: Engine, from: number, to: number, times: number) => void
  /** A loop's body begins, for a tile index; once for all of them where it is counted out. */
  readonly tile: (loop: T, index: number) => void
  /** True if a loop in which nothing waits is run tile by tile. */
  readonly expands: boolean
}

/**
 * When each engine is done with some code: it takes its instructions in program order and waits for
 * the events that it must; copies may take from computing (see DeviceModel), which may still owe
 * for them at the end. Computing begins at 0, the others at `from`. Loops of launches on the
 * compute engine alone are counted out, since nothing waits inside them.
 */
const enginesAfter = <T extends Timed>(
  code: readonly T[],
  launchNanoseconds: (kernel: number) => number,
  device: DeviceModel,
  from: number,
  watch?: Watch<T>
): { readonly engines: Readonly<Record<Engine, number>>; readonly owed: number } => {
  const copyNanoseconds = ({ engine, rows, rowBytes }: Pick<Copy, 'engine' | 'rows' | 'rowBytes'>, rates?: LinkRates): number =>
    rates === undefined ? 0 : Math.round((1e9 * rows * rowBytes) / rates[engine === 'to-device' ? 'toDevice' : 'toHost'])
  const engines: Record<Engine, number> = { compute: 0, 'to-device': from, 'to-host': from, network: from }
  const recorded = new Map<number, number>()
  /** Nanoseconds that copies take from computing, unless it waits for them longer. */
  let owed = 0
  const busy = (one: T, engine: Engine, nanoseconds: number, times: number): void => {
    const began = engines[engine]
    engines[engine] += times * nanoseconds
    watch?.span(one, engine, began, engines[engine], times)
  }
  const run = (code: readonly T[], times: number): void => {
    for (const one of code)
      switch (one.kind) {
        case 'launch':
          busy(one, one.engine ?? 'compute', launchNanoseconds(one.kernel), times)
          break
        case 'copy':
          busy(one, one.engine, copyNanoseconds(one, device.linkBytesPerSecond), times)
          owed += copyNanoseconds(one, device.copyBytesPerSecond)
          break
        case 'allToAll':
        case 'exchange':
          busy(one, 'network', networkNanoseconds(device, one), times)
          break
        case 'ownSlice':
          // Little beside the update of the slice, which is simulated.
          busy(one, 'compute', 0, times)
          break
        case 'map':
        case 'unmap':
          busy(one, 'compute', mapNanoseconds(one.bytes), times)
          break
        case 'record':
          recorded.set(one.event, engines[one.engine])
          break
        case 'wait':
          if (one.engine === 'compute') {
            engines.compute += owed
            owed = 0
          }
          engines[one.engine] = Math.max(engines[one.engine], recorded.get(one.event) ?? from)
          break
        case 'loop': {
          // What a Program's loop holds is what the Program holds.
          const body = one.body as readonly T[]
          const isCountedOut = !synchronises(body) && watch?.expands !== true
          for (let index = 0; index < (isCountedOut ? 1 : one.count); index++) {
            watch?.tile(one, index)
            run(body, isCountedOut ? times * one.count : times)
          }
        }
      }
  }
  run(code, 1)
  return { engines, owed }
}

/** A Program's code by itself, told to who watches; nanoseconds of all. */
export const watchSimulation = (
  code: readonly Instruction[],
  kernels: readonly Kernel[],
  device: DeviceModel,
  watch: Watch<Instruction>
): number => {
  const launches = kernels.map((kernel) => nanoseconds(device, kernel))
  const { engines, owed } = enginesAfter(code, (kernel) => launches[kernel]!, device, 0, watch)
  return Math.max(...Object.values({ ...engines, compute: engines.compute + owed }))
}

/** Predicted nanoseconds of some code by itself. */
const simulatedNanoseconds = (code: readonly Timed[], kernels: readonly Kernel[], device: DeviceModel): number => {
  const launches = kernels.map((kernel) => nanoseconds(device, kernel))
  const { engines, owed } = enginesAfter(code, (kernel) => launches[kernel]!, device, 0)
  return Math.max(...Object.values({ ...engines, compute: engines.compute + owed }))
}

/** Predicted nanoseconds of code in which each launch names its own in place of a kernel. */
export const simulateTimedCode = (code: readonly Timed[], device: DeviceModel): number => {
  const { engines, owed } = enginesAfter(code, (time) => time, device, 0)
  return Math.max(...Object.values({ ...engines, compute: engines.compute + owed }))
}

/**
 * Nanoseconds that some code keeps computing busy or waiting, whatever runs before it: transfers
 * that need not wait for it are over.
 */
export const computingNanoseconds = (code: readonly Timed[], launchNanoseconds: (kernel: number) => number, device: DeviceModel): number =>
  enginesAfter(code, launchNanoseconds, device, -Infinity).engines.compute

/** The sections of a step, before or after placement. */
interface TimedStep {
  readonly step: { readonly code: readonly Timed[] }
  /** After each step. */
  readonly reduce?: { readonly code: readonly Timed[] } | undefined
  readonly update?: { readonly code: readonly Timed[] } | undefined
  readonly kernels: readonly Kernel[]
}

/**
 * Predicted milliseconds of one update of the weights: its `steps` in turn, and what follows each
 * and all of them.
 */
export const simulate = ({ step, reduce, update, kernels }: TimedStep, device: DeviceModel, steps: number): number =>
  steps * (simulatedNanoseconds(step.code, kernels, device) / 1e6) +
  (reduce === undefined ? 0 : steps * (simulatedNanoseconds(reduce.code, kernels, device) / 1e6)) +
  (update === undefined ? 0 : simulatedNanoseconds(update.code, kernels, device) / 1e6)
