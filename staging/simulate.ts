import type { DeviceModel } from './device-model'
import type { Kernel } from './kernels'
import type { Copy, Engine, Instruction, Program, Section } from './program'

const copies = (code: readonly Instruction[]): boolean =>
  code.some((one) => (one.kind === 'loop' ? copies(one.body) : one.kind !== 'launch'))

/** Predicted time of one launch. Whole numbers, so that sums are exact and do not depend on their order. */
export const nanoseconds = (device: DeviceModel, kernel: Kernel): number => Math.round(1e6 * device.milliseconds(kernel))

/**
 * Predicted milliseconds of one section: each engine takes its instructions in program order and waits for the events that it must.
 * Loops of launches alone are counted out, since nothing waits inside them.
 */
const simulateSection = ({ code }: Section, { kernels }: Program, device: DeviceModel): number => {
  const launches = kernels.map((kernel) => nanoseconds(device, kernel))
  const copyNanoseconds = ({ engine, rows, rowBytes }: Copy): number =>
    Math.round((1e9 * rows * rowBytes) / device.linkBytesPerSecond[engine === 'to-device' ? 'toDevice' : 'toHost'])
  const engines: Record<Engine, number> = { compute: 0, 'to-device': 0, 'to-host': 0 }
  const recorded = new Map<number, number>()
  const run = (code: readonly Instruction[], times: number): void => {
    for (const one of code)
      switch (one.kind) {
        case 'launch':
          engines.compute += times * launches[one.kernel]!
          break
        case 'copy':
          engines[one.engine] += copyNanoseconds(one)
          break
        case 'record':
          recorded.set(one.event, engines[one.engine])
          break
        case 'wait':
          engines[one.engine] = Math.max(engines[one.engine], recorded.get(one.event) ?? 0)
          break
        case 'loop':
          if (!copies(one.body)) run(one.body, times * one.count)
          else for (let index = 0; index < one.count; index++) run(one.body, 1)
      }
  }
  run(code, 1)
  return Math.max(...Object.values(engines)) / 1e6
}

/** Predicted milliseconds of one update of the weights: its micro-batches in turn, and what follows them. */
export const simulate = (program: Program, device: DeviceModel, microBatches: number): number =>
  microBatches * simulateSection(program.step, program, device) +
  (program.update === undefined ? 0 : simulateSection(program.update, program, device))
