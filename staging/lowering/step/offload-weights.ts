import { collectUses, type BufferUses } from '../ir/buffer-uses'
import { arenaOperand, createBuilder, type Buffer, type Pool, type UnplacedInstruction } from '../ir/builder'
import { contiguousCopy } from '../ir/contiguous-copy'
import { insertBefore } from '../ir/insert-before'
import { replaceBuffers } from '../ir/replace-buffers'
import { waitForEngine } from '../ir/wait-for-engine'
import type { UnplacedPersistentTensor } from '../scope/persistent-tensors'

/** A time during which weights are on the device: positions of the code, `to` is its last use. */
interface Stay {
  /** Where they are otherwise. */
  readonly host: Buffer
  readonly device: Buffer
  readonly from: number
  readonly to: number
  /** Whether they are updated, and so return. */
  readonly isWritten: boolean
}

/** Bytes of distinct weights that are used at positions between two. */
const bytesBetween = (all: readonly BufferUses[], from: number, to: number): number =>
  all.reduce((sum, { at, buffer }) => sum + (at.some((position) => from < position && position < to) ? buffer.bytes : 0), 0)

/**
 * When weights are on the device, in order: between two uses they stay where they and all weights
 * that are used meanwhile are no more than the window.
 */
const listStays = (all: readonly BufferUses[], names: ReadonlyMap<Buffer, string>, window: number, pool: Pool): readonly Stay[] =>
  all
    .flatMap(({ buffer, at, written }) => {
      const others = all.filter((other) => other.buffer !== buffer)
      const leavesAfter = (from: number, to: number): boolean => {
        const between = bytesBetween(others, from, to)
        return between > 0 && between + buffer.bytes > window
      }
      const ends = at.filter((position, index) => index + 1 === at.length || leavesAfter(position, at[index + 1]!))
      return ends.map((to, index): Stay => {
        const from = at.find((position) => position > (ends[index - 1] ?? -1))!
        const identity = { kind: 'loaded-weights', parameter: names.get(buffer)! } as const
        const device: Buffer = { ...buffer, id: pool.freshBuffer(), identity, role: 'local' }
        return { host: buffer, device, from, to, isWritten: from <= written && written <= to }
      })
    })
    .sort((a, b) => a.from - b.from)

/** For each stay, the position before which its memory is free again. */
const findReleases = (stays: readonly Stay[], end: number): ReadonlyMap<Stay, number> => {
  const written = stays.filter(({ isWritten }) => isWritten).sort((a, b) => a.to - b.to)
  // What is updated leaves while the next one runs backward.
  const releases = written.map((stay, index) => [stay, (written[index + 1]?.to ?? end - 1) + 1] as const)
  return new Map([...stays.map((stay) => [stay, stay.to + 1] as const), ...releases])
}

/** The stay of the same weights before one of these. */
const stayBefore = (stays: readonly Stay[], index: number): Stay | undefined =>
  stays.slice(0, index).findLast(({ host }) => host === stays[index]!.host)

/**
 * For each stay, in order, the position before which it begins to come: the first, after that of
 * the stay before it, at which the window has room for it, and after the same weights have left.
 */
const findLoads = (stays: readonly Stay[], releases: ReadonlyMap<Stay, number>, window: number): readonly number[] => {
  const loads: number[] = []
  for (const [index, stay] of stays.entries()) {
    const before = stays.slice(0, index)
    const earliest = Math.max(loads.at(-1) ?? 0, (stayBefore(stays, index)?.to ?? -1) + 1)
    const roomAt = (position: number): boolean =>
      before.reduce((sum, one) => sum + (releases.get(one)! > position ? one.device.bytes : 0), stay.device.bytes) <= window
    const positions = [earliest, ...before.map((one) => releases.get(one)!).filter((position) => position > earliest)].sort((a, b) => a - b)
    loads.push(Math.min(positions.find(roomAt) ?? stay.from, stay.from))
  }
  return loads
}

/**
 * A section's code whose weights on the host come before they are used, as far ahead as a window of
 * so many bytes has room for them, and return once they are updated (as ZeRO-Infinity has it,
 * Rajbhandari 2021).
 */
export const offloadWeights = (
  code: readonly UnplacedInstruction[],
  persistentTensors: readonly UnplacedPersistentTensor[],
  window: number,
  pool: Pool
): readonly UnplacedInstruction[] => {
  const names = new Map(
    persistentTensors.flatMap(({ name, buffer, parameter, onHost }) =>
      onHost && buffer === parameter.buffer ? [[buffer, name] as const] : []
    )
  )
  const identities = new Set([...names.keys()].map(({ identity }) => identity))
  const stays = listStays(
    collectUses(code, pool, (identity) => identities.has(identity)),
    names,
    window,
    pool
  )
  const releases = findReleases(stays, code.length)
  const loads = findLoads(stays, releases, window)
  const before = new Map<number, readonly UnplacedInstruction[]>()
  const insert = (position: number, ...inserted: readonly UnplacedInstruction[]): void => {
    before.set(position, [...(before.get(position) ?? []), ...inserted])
  }
  const started = (engine: 'to-device' | 'to-host', { device, host }: Stay, event: number): readonly UnplacedInstruction[] => {
    const transfer = createBuilder(pool)
    waitForEngine(transfer, engine, 'compute')
    transfer.copy(contiguousCopy(engine, device.bytes, arenaOperand(device), arenaOperand(host)))
    transfer.record(engine, event)
    return transfer.code()
  }
  const left = new Map(stays.flatMap((stay) => (stay.isWritten ? [[stay, pool.freshEvent()] as const] : [])))
  for (const [stay, event] of left) insert(stay.to + 1, ...started('to-host', stay, event))
  for (const [stay, event] of left) insert(releases.get(stay)!, { kind: 'wait', engine: 'compute', event, device: stay.device })
  const arrived = stays.map(() => pool.freshEvent())
  stays.forEach((stay, index) => {
    const previous = stayBefore(stays, index)
    const returned = previous && left.get(previous)
    if (returned !== undefined) insert(loads[index]!, { kind: 'wait', engine: 'to-device', event: returned })
    insert(loads[index]!, ...started('to-device', stay, arrived[index]!))
  })
  stays.forEach((stay, index) => insert(stay.from, { kind: 'wait', engine: 'compute', event: arrived[index]! }))
  const staysOf = new Map([...names.keys()].map((buffer) => [buffer, stays.filter(({ host }) => host === buffer)]))
  const replaced = code.map((one, position) =>
    replaceBuffers(one, (buffer) => staysOf.get(buffer)?.find(({ to }) => position <= to)?.device)
  )
  return insertBefore(replaced, before)
}
