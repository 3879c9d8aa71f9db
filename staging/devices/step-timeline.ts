import type { DeviceModel } from './device-model'
import type { Instruction, Program } from '../program/program'
import { watchSimulation } from './simulate'
import { type StepTimeline, collectTimeline, wholeTimeline } from './timeline'

/** Launches of which each is told by itself; more are told once for all tiles of a loop. */
const maxSpans = 20_000

const countSpans = (code: readonly Instruction[]): number =>
  code.reduce((sum, one) => sum + (one.kind === 'loop' ? one.count * countSpans(one.body) : 1), 0)

/**
 * When each engine does what in a step, and when each buffer holds something: by the simulator that
 * predicts its time. A buffer that only the tiles of a loop use has a lifetime for each of them;
 * persistent ones live throughout.
 */
export const stepTimeline = (program: Program, device: DeviceModel): StepTimeline => {
  const { code } = program.step
  const { take, ...watch } = collectTimeline(program, code)
  const nanoseconds = watchSimulation(code, program.kernels, device, { expands: countSpans(code) <= maxSpans, ...watch })
  return wholeTimeline(program, nanoseconds, take())
}
