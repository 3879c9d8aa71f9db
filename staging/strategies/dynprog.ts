import type { Chain } from '../chain/chain'
import { dynprogOffload as offloadSet } from '../chain/dynprog'
import { leastBytes, peakBytes } from '../chain/memory'
import { stageSpans } from '../chain/stage-spans'
import type { DeviceModel } from '../devices/device-model'
import type { SwappableTensor, Timeline } from '../lowering/cost/timeline'
import { lazy } from '../memoize'
import type { Span } from '../graph/span'
import { greedySchedules, greedySwapIntervals, targetCount } from './greedy'
import { noWait, occupancy, targets, type StageInterval } from './swap-intervals'
import type { Strategy } from './strategy'
import { swappingWhole } from './whole-model'

/**
 * A step as Beaumont 2020 sees one. By stage, `activations` are the tensors that its x_i stands
 * for: what the stage before keeps for backward.
 */
export interface StepChain {
  readonly chain: Chain
  readonly activations: readonly (readonly SwappableTensor[])[]
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

/**
 * The chain whose stages are these spans of the graph, with the step's own times and bytes: all
 * that lives during an operation beside parameters and activations is ex_F, or ex_B, gradients too.
 */
export const stepChain = (timeline: Timeline, spans: readonly Span[], link: DeviceModel['linkBytesPerSecond']): StepChain => {
  const { stages, tensors, backwardStart, persistentBytes } = timeline
  const nodes = spans.at(-1)!.to
  const spanOf = stages.map(({ timepoint }) =>
    spans.findIndex(({ to }) => (timepoint < nodes ? timepoint : 2 * nodes - 1 - timepoint) < to)
  )
  const activationOf = ({ identity, written }: SwappableTensor): number => (identity.kind === 'input' ? 0 : spanOf[written]! + 1)
  const activations = [...spans.keys(), spans.length].map((i) => tensors.filter((tensor) => activationOf(tensor) === i))
  const sizes = activations.map((made) => sum(made.map(({ bytes }) => bytes)))

  const live = occupancy(timeline, [])
  const operation = (i: number, isForward: boolean) => {
    const its = [...stages.keys()].filter((stage) => spanOf[stage] === i && stage < backwardStart === isForward)
    const kept = persistentBytes + sum(sizes.slice(0, i + 2))
    return {
      milliseconds: sum(its.map((stage) => stages[stage]!.nanoseconds)) / 1e6,
      beside: Math.max(0, ...its.map((stage) => live[stage]! - kept))
    }
  }
  const stageOf = (i: number): Chain['stages'][number] => {
    const [forward, backward] = [operation(i, true), operation(i, false)]
    return {
      name: `${i}`,
      u_F: forward.milliseconds,
      u_B: backward.milliseconds,
      x: sizes[i]!,
      y: 0,
      ex_F: forward.beside,
      ex_B: backward.beside
    }
  }
  return {
    chain: {
      name: 'step',
      stages: [...spans.keys()].map(stageOf),
      output: { x: sizes.at(-1)!, y: 0 },
      beta: Math.min(link.toDevice, link.toHost)
    },
    activations
  }
}

/** Number of slots of the memory beside parameters; 500 is the paper's. */
const slots = 500

/**
 * DYNPROG (Beaumont 2020, section 5.3): the no-wait, ordered schedule of the set of activations
 * that is best where transfers free memory byte by byte. GREEDY's where the chain has none.
 */
export const dynprogSwapIntervals = (timeline: Timeline, { chain, activations }: StepChain, target: number): readonly StageInterval[] => {
  const memory = target - timeline.persistentBytes
  if (memory >= peakBytes(chain)) return []
  // A step's tensors are smaller than a chain's activations, so that a set may fit where no
  // operation of the chain does.
  if (memory < leastBytes(chain)) return greedySwapIntervals(timeline, target)
  const offloads = offloadSet(chain, memory, slots)
  return noWait(
    timeline,
    activations.flatMap((tensors, i) => (offloads[i] ? tensors : [])),
    target
  )
}

/**
 * Besides, GREEDY's sets: where buffers do not lie in the bytes in which they live, such a set may.
 */
export const dynprog: Strategy = swappingWhole((seen, graph, link) => {
  const chain = stepChain(seen, stageSpans(graph), link)
  const sets = targets(seen, targetCount).map((target) => lazy(() => dynprogSwapIntervals(seen, chain, target)))
  return [...sets, ...greedySchedules(seen)]
})
