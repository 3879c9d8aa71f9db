import type { DeviceModel } from '../../devices/device-model'
import type { StepGraph } from '../../graph/step-graph'
import type { KernelKind } from '../../kernels/kernels'
import { findRefused, type NodeBuffer } from '../ir/buffer-identity'
import { alignUp } from '../../placement/placement'
import { computeLifetimes } from '../../placement/lifetimes'
import type { Segment } from '../../plans/plan'
import { memoizeByNumber } from '../../memoize'
import { computingNanoseconds, nanoseconds } from '../../devices/simulate'
import type { UnplacedInstruction } from '../ir/builder'
import { savedTensors, type StepCode } from '../step/saved-tensors'
import { persistentBytes } from '../scope/persistent-tensors'
import { lowerSteps } from '../step/step'

/**
 * A tensor that may wait on the host between forward and backward; its uses as positions in the
 * timeline's stages.
 */
export interface SwappableTensor {
  /** The tensor's name in plans. */
  readonly name: string
  /** The layer that the tensor is of, and its kind. */
  readonly identity: NodeBuffer
  /** Bytes in the arena; those that are moved may be a few less. */
  readonly bytes: number
  readonly movedBytes: number
  /** First and last stage that uses it. */
  readonly from: number
  readonly to: number
  /**
   * The last stage of forward that writes it, and the last that uses it; the first one of backward
   * that does.
   */
  readonly written: number
  readonly forward: number
  readonly backward: number
  /** Nanoseconds of that stage before it does. */
  readonly nanosecondsBefore: number
  /** All stages of backward that use it, that one first. */
  readonly reads: readonly Read[]
}

/** A use of a tensor in backward. */
export interface Read {
  readonly stage: number
  /** Nanoseconds of the stage before it reads the tensor. */
  readonly nanosecondsBefore: number
}

/**
 * What runs from a timepoint (see SwapInterval in plan.ts) to the next one: a layer forward or
 * backward, or a segment where it is tiled.
 */
interface Stage {
  readonly timepoint: number
  /** The most that lives beside the swappable tensors, parameters and workspaces included. */
  readonly bytes: number
  /** The most that lives at all. */
  readonly liveBytes: number
  /** The most that lives on the host, of what passes in bands of rows. */
  readonly hostBytes: number
  /** Nanoseconds of what computes. */
  readonly nanoseconds: number
  /** Nanoseconds of what computes, with the images and bands of rows that it waits for. */
  readonly busyNanoseconds: number
}

/** A step as strategies that swap see it: how long each stage takes, and what is in memory. */
export interface Timeline {
  readonly stages: readonly Stage[]
  /** The first stage of backward. */
  readonly backwardStart: number
  /** Bytes of parameters and optimizer state. */
  readonly persistentBytes: number
  /** A kernel that the device refuses, whose scratch is left out; undefined where it takes all. */
  readonly refusedKernel: KernelKind | undefined
  /** In the order in which they are made. */
  readonly tensors: readonly SwappableTensor[]
}

/** What the timelines of a graph's segmentations share. */
interface Lowering extends Pick<ReturnType<typeof lowerSteps>, 'pool' | 'persistentTensors'> {
  readonly device: DeviceModel
  /** Nanoseconds of a launch. */
  readonly launch: (kernel: number) => number
}

/** The timelines of steps in which nothing is swapped. */
export const createTimelines = (graph: StepGraph, device: DeviceModel): ((segments: readonly Segment[]) => Timeline) => {
  const { pool, persistentTensors, lowerOne } = lowerSteps(graph, device)
  const launch = memoizeByNumber((kernel: number) => nanoseconds(device, pool.kernels[kernel]!))
  return (segments) => makeTimeline({ pool, persistentTensors, device, launch }, lowerOne(segments))
}

const makeTimeline = ({ pool, persistentTensors, device, launch }: Lowering, step: StepCode): Timeline => {
  const { code, nodes } = step
  const begins = [...step.timepoints].sort(([a], [b]) => a - b)
  /** Stages without code of their own are passed over. */
  const stages = begins.filter(([, position], index) => position < (begins[index + 1]?.[1] ?? code.length))
  /** By position; what stands before the first stage is counted to it. */
  const stageOf = new Int32Array(code.length)
  stages.forEach(([, begin], stage) => stageOf.fill(stage, begin))
  const stageAt = (position: number): number => stageOf[position]!
  const kept = savedTensors(step, pool)

  const timeOf = (list: readonly UnplacedInstruction[]): number =>
    list.reduce((sum, one) => {
      if (one.kind === 'loop') return sum + one.count * timeOf(one.body)
      return one.kind === 'launch' && one.engine === undefined ? sum + launch(one.kernel) : sum
    }, 0)
  const swappable = new Set(kept.map(({ buffer }) => buffer.id))
  const lifetimes = computeLifetimes(
    code,
    persistentTensors.map(({ buffer }) => buffer)
  )
  const counts = code.map(countInside)
  const others = liveBytes(
    lifetimes.filter(({ buffer }) => !swappable.has(buffer.id)),
    counts
  )
  const all = liveBytes(lifetimes, counts)
  const onHost = liveBytes(computeLifetimes(code, [], 'host'), counts)
  /** Nanoseconds of a stage before each of its instructions. */
  const timesBefore = memoizeByNumber((stage: number): readonly number[] => {
    const [from, to] = between(stage)
    let sum = 0
    return code.slice(from, to).map((one) => {
      const before = sum
      sum += timeOf([one])
      return before
    })
  })
  const between = (index: number): readonly [number, number] => [index === 0 ? 0 : stages[index]![1], stages[index + 1]?.[1] ?? code.length]
  return {
    stages: stages.map(([timepoint], index): Stage => {
      const [from, to] = between(index)
      return {
        timepoint,
        bytes: maximum(others.slice(from, to)),
        liveBytes: maximum(all.slice(from, to)),
        hostBytes: maximum(onHost.slice(from, to)),
        nanoseconds: timeOf(code.slice(from, to)),
        busyNanoseconds: computingNanoseconds(code.slice(from, to), launch, device)
      }
    }),
    backwardStart: stages.findIndex(([timepoint]) => timepoint >= nodes),
    persistentBytes: persistentBytes(persistentTensors),
    refusedKernel: findRefused(lifetimes),
    tensors: kept.map(({ name, identity, buffer, from, to, written, forward, reads }): SwappableTensor => {
      const firstReads = reads.filter((position, index) => index === 0 || stageAt(reads[index - 1]!) !== stageAt(position))
      const inStages = firstReads.map((position): Read => {
        const stage = stageAt(position)
        return { stage, nanosecondsBefore: timesBefore(stage)[position - between(stage)[0]]! }
      })
      return {
        name,
        identity,
        bytes: alignUp(buffer.bytes),
        movedBytes: buffer.bytes,
        from: stageAt(from),
        to: stageAt(to),
        written: stageAt(written),
        forward: stageAt(forward),
        backward: inStages[0]!.stage,
        nanosecondsBefore: inStages[0]!.nanosecondsBefore,
        reads: inStages
      }
    })
  }
}

/** Takes lists of any length, where arguments of Math.max would not fit on the stack. */
const maximum = (values: readonly number[]): number => values.reduce((most, value) => Math.max(most, value), -Infinity)

/** Instructions of one outside of loops, with those inside of it. */
const countInside = (one: UnplacedInstruction): number =>
  one.kind === 'loop' ? one.body.reduce((sum, inner) => sum + countInside(inner), 0) : 1

/** The most bytes that live during each instruction outside of loops, by how many each one is. */
const liveBytes = (
  lifetimes: readonly { readonly bytes: number; readonly from: number; readonly to: number }[],
  counts: readonly number[]
): readonly number[] => {
  // What lives to the end of the code or beyond, none of its instructions frees.
  const change = new Float64Array(counts.reduce((sum, one) => sum + one, 0))
  for (const { bytes, from, to } of lifetimes) {
    if (from < change.length) change[from]! += alignUp(bytes)
    if (to < change.length) change[to]! -= alignUp(bytes)
  }
  let [time, bytes] = [0, 0]
  return counts.map((times) => {
    let most = 0
    for (const end = time + times; time < end; time++) {
      bytes += change[time]!
      most = Math.max(most, bytes)
    }
    return most
  })
}
