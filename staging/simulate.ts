import type { DeviceModel } from './device-model'
import type { Instruction, Program } from './program'

/** Predicted milliseconds of one step: every launch in order on one engine, loops counted out. */
export const simulate = ({ step, kernels }: Program, device: DeviceModel): number => {
  const times = kernels.map((kernel) => device.milliseconds(kernel))
  const total = (code: readonly Instruction[]): number =>
    code.reduce((sum, one) => sum + (one.kind === 'launch' ? times[one.kernel]! : one.count * total(one.body)), 0)
  return total(step.code)
}
