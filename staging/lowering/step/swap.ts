import type { SwapSchedule } from '../../plans/plan'
import type { Copy } from '../../program/program'
import { arenaOperand, type Buffer, type Pool, type UnplacedInstruction } from '../ir/builder'
import { contiguousCopy } from '../ir/contiguous-copy'
import { replaceBuffers } from '../ir/replace-buffers'
import { savedTensors, findTimepointStart, type SavedTensor, type StepCode } from './saved-tensors'

/** One sentence on why a tensor cannot wait on the host as one of a step's saved tensors. */
const intervalMistake = (
  step: StepCode,
  kept: ReadonlyMap<string, SavedTensor>,
  swapSchedule: SwapSchedule,
  timepointText: (timepoint: number) => string
): string | undefined => {
  /** The timepoint at which each tensor is read first after its last interval. */
  const back = new Map<string, number>()
  for (const { tensor, swapOut, freed, swapIn } of swapSchedule) {
    const found = kept.get(tensor)
    if (found === undefined) return `swapSchedule: no ${tensor} is kept from forward to backward`
    const [out, free, into] = [swapOut, freed, swapIn].map((timepoint) => findTimepointStart(step, timepoint))
    const before = back.get(tensor)
    const used = before ?? found.forward
    if (before !== undefined && out !== free)
      return `swapSchedule: ${tensor} is listed again, so that the host has it; its swapOut must be its freed`
    if (before === undefined && out! <= found.written)
      return `swapSchedule: ${tensor} is not there yet before ${timepointText(swapOut)}; it must be swapped out later`
    if (free! <= used) return `swapSchedule: ${tensor} is still read from ${timepointText(freed)} on; it must be freed later`
    if (free! < out!) return `swapSchedule: ${tensor} is freed before it is swapped out`
    if (into! < free!) return `swapSchedule: ${tensor} is swapped in before it is freed`
    if (found.reads.some((read) => free! <= read && read < into!))
      return `swapSchedule: ${tensor} is read before ${timepointText(swapIn)}; it must be swapped in earlier`
    const next = found.reads.find((read) => read >= into!)
    if (next === undefined) return `swapSchedule: nothing reads ${tensor} from ${timepointText(swapIn)} on; leave this row out`
    back.set(tensor, next)
  }
  return undefined
}

const byName = (step: StepCode, pool: Pick<Pool, 'kernels'>): ReadonlyMap<string, SavedTensor> =>
  new Map(savedTensors(step, pool).map((tensor) => [tensor.name, tensor]))

/**
 * Returns one sentence on why a tensor cannot wait on the host as decided; `timepointText` says a
 * timepoint in words.
 */
export const validateSwapIntervals = (
  step: StepCode,
  pool: Pick<Pool, 'kernels'>,
  swapSchedule: SwapSchedule,
  timepointText: (timepoint: number) => string
): string | undefined => intervalMistake(step, byName(step, pool), swapSchedule, timepointText)

/**
 * What of a swap schedule a rank of those that share rows can do: a rank at an image's end may save
 * less, or read it at other timepoints, than the one that was planned for. The rest stays.
 */
export const possibleSwaps = (step: StepCode, pool: Pick<Pool, 'kernels'>, swapSchedule: SwapSchedule): SwapSchedule => {
  const kept = byName(step, pool)
  const ofTensor = (name: string): SwapSchedule => swapSchedule.filter(({ tensor }) => tensor === name)
  const possible = new Set(
    swapSchedule.flatMap(({ tensor }) => (intervalMistake(step, kept, ofTensor(tensor), String) === undefined ? [tensor] : []))
  )
  return swapSchedule.filter(({ tensor }) => possible.has(tensor))
}

/**
 * A tensor's time on the host in the step's code: each transfer begins, and each wait stands, right
 * before its position.
 */
interface PlacedInterval {
  readonly tensor: SavedTensor
  readonly swapOut: number
  readonly freed: number
  readonly swapIn: number
  /** The timepoint at which it is read first after that. */
  readonly wanted: number
  readonly host: Buffer
  /** The buffer into which it is swapped in. */
  readonly again: Buffer
  /** Absent where the host has it from the interval before. */
  readonly left: number | undefined
  readonly arrived: number
}

/** Returns the instructions that stand before the one at `position`. */
const insertedAt = (position: number, intervals: readonly PlacedInterval[], freshEvent: () => number): readonly UnplacedInstruction[] => {
  /** Copies that begin once computing has come here. */
  const started = (
    engine: Copy['engine'],
    starting: readonly PlacedInterval[],
    ends: (interval: PlacedInterval) => { readonly device: Buffer; readonly event: number }
  ): readonly UnplacedInstruction[] => {
    if (starting.length === 0) return []
    const here = freshEvent()
    const copies = starting.flatMap((interval): readonly UnplacedInstruction[] => {
      const { device, event } = ends(interval)
      return [contiguousCopy(engine, device.bytes, arenaOperand(device), arenaOperand(interval.host)), { kind: 'record', engine, event }]
    })
    return [{ kind: 'record', engine: 'compute', event: here }, { kind: 'wait', engine, event: here }, ...copies]
  }
  const moved = intervals.filter(({ left }) => left !== undefined)
  const leaving = moved.filter(({ swapOut }) => swapOut === position)
  const freed = moved.filter((interval) => interval.freed === position)
  const entering = intervals.filter(({ swapIn }) => swapIn === position).sort((a, b) => a.wanted - b.wanted)
  const wanted = intervals.filter((interval) => interval.wanted === position)
  return [
    ...started('to-host', leaving, ({ tensor, left }) => ({ device: tensor.buffer, event: left! })),
    ...freed.map(({ tensor, left }) => ({ kind: 'wait', engine: 'compute', event: left!, device: tensor.buffer }) as const),
    // After what is freed here: its place may be theirs.
    ...started('to-device', entering, ({ again, arrived }) => ({ device: again, event: arrived })),
    ...wanted.map(({ host, arrived }) => ({ kind: 'wait', engine: 'compute', event: arrived, host }) as const)
  ]
}

/**
 * The step with the transfers of a swap schedule that has no mistake. What comes back has a buffer
 * of its own (see ProgramBuffer).
 */
export const withSwaps = (step: StepCode, pool: Pool, swapSchedule: SwapSchedule): readonly UnplacedInstruction[] => {
  if (swapSchedule.length === 0) return step.code
  const kept = byName(step, pool)
  const hosts = new Map<string, Buffer>()
  const intervals = swapSchedule.map(({ tensor: name, ...timepoints }): PlacedInterval => {
    const tensor = kept.get(name)!
    // Ranks that share a tensor share none of its copies: not all may have them.
    const { share: _, ...buffer } = tensor.buffer
    const copyOf = (form: 'swapped-out' | 'swapped-in'): Buffer => ({
      ...buffer,
      id: pool.freshBuffer(),
      identity: { ...tensor.identity, form }
    })
    const [swapOut, freed, swapIn] = [timepoints.swapOut, timepoints.freed, timepoints.swapIn].map((timepoint) =>
      findTimepointStart(step, timepoint)
    )
    const before = hosts.get(name)
    const host = before ?? copyOf('swapped-out')
    hosts.set(name, host)
    return {
      tensor,
      swapOut: swapOut!,
      freed: freed!,
      swapIn: swapIn!,
      wanted: tensor.reads.find((read) => read >= swapIn!)!,
      host,
      again: copyOf('swapped-in'),
      left: before === undefined ? pool.freshEvent() : undefined,
      arrived: pool.freshEvent()
    }
  })
  const returns = new Map<number, readonly PlacedInterval[]>()
  for (const interval of intervals) returns.set(interval.tensor.buffer.id, [...(returns.get(interval.tensor.buffer.id) ?? []), interval])
  const renamed = (one: UnplacedInstruction, position: number): UnplacedInstruction =>
    replaceBuffers(one, ({ id }) => returns.get(id)?.findLast(({ wanted }) => position >= wanted)?.again)
  const touching = new Map<number, PlacedInterval[]>()
  for (const interval of intervals)
    for (const position of new Set([interval.swapOut, interval.freed, interval.swapIn, interval.wanted])) {
      const list = touching.get(position)
      if (list === undefined) touching.set(position, [interval])
      else list.push(interval)
    }
  return step.code.flatMap((one, position) => [
    ...insertedAt(position, touching.get(position) ?? [], pool.freshEvent),
    renamed(one, position)
  ])
}
