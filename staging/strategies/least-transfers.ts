import type { DeviceModel } from '../devices/device-model'
import type { SwappableTensor, Timeline } from '../lowering/cost/timeline'

/** By stage, what the stages before it take in turn; after the last one, what all take. */
const sumsBefore = (nanoseconds: readonly number[]): Float64Array => {
  const before = new Float64Array(nanoseconds.length + 1)
  nanoseconds.forEach((one, stage) => {
    before[stage + 1] = before[stage]! + one
  })
  return before
}

/** The rates of copies, and what they take from computing. */
export type Rates = Pick<DeviceModel, 'linkBytesPerSecond' | 'copyBytesPerSecond'>

/** Nanoseconds of so many bytes at a rate in bytes a second. */
export const nanosecondsAt = (bytes: number, rate: number): number => (1e9 * bytes) / rate

/** Rates of copies that leave computing alone. */
export const untaken = { toDevice: Infinity, toHost: Infinity }

/**
 * Bounds what a step takes in nanoseconds by how many transfers there are, and the bytes that leave
 * and come back: each direction of the link by itself, and computing with what copies take from it.
 */
export const leastMovingNanoseconds = (
  { stages }: Timeline,
  { linkBytesPerSecond: link, copyBytesPerSecond: copies = untaken }: Rates
): ((transfers: number, bytesOut: number, bytesBack: number) => number) => {
  const sum = (nanoseconds: (stage: Timeline['stages'][number]) => number): number =>
    stages.reduce((all, stage) => all + nanoseconds(stage), 0)
  const computing = sum((stage) => stage.nanoseconds)
  const busy = sum(({ nanoseconds, busyNanoseconds }) => Math.max(nanoseconds, busyNanoseconds))
  return (transfers, bytesOut, bytesBack) => {
    const taken = nanosecondsAt(bytesOut, copies.toHost) + nanosecondsAt(bytesBack, copies.toDevice)
    const moving = Math.max(computing + taken, nanosecondsAt(bytesOut, link.toHost), nanosecondsAt(bytesBack, link.toDevice))
    // Each transfer is rounded to whole nanoseconds, there and back.
    return Math.max(busy, moving - transfers)
  }
}

/** Whether what waits on the host comes back once, or may leave again between reads of backward. */
export type Returns = 'once' | 'again'

/**
 * Whether a tensor may be away in a stage; where it may leave again, in all but the last one that
 * reads it in backward, for it may leave within a stage.
 */
const mayBeAway = ({ forward, backward, reads }: SwappableTensor, stage: number, returns: Returns): boolean =>
  forward < stage && stage < (returns === 'again' ? reads.at(-1)!.stage : backward)

/** The last stage before which a tensor that is away in a stage must be back. */
const wantedBy = ({ backward, to }: SwappableTensor, stage: number): number => (stage < backward ? backward : to)

/**
 * Bounds what a step takes whose tensors wait on the host, whatever the schedule. What a stage has
 * no room for leaves before it, not before it is made, and comes back after it, before it is read,
 * over a link that takes its time for each byte (as Beaumont 2020, Proposition 3, for what is above
 * the memory); and copies may take from computing. Answers nanoseconds for bytes on the device;
 * infinitely many where the tensors that may leave are too few.
 */
export const leastTransferNanoseconds = (
  timeline: Timeline,
  { linkBytesPerSecond: { toDevice, toHost }, copyBytesPerSecond: copies = untaken }: Rates,
  returns: Returns
): ((deviceBytes: number) => number) => {
  const { stages, tensors } = timeline
  const before = sumsBefore(stages.map(({ nanoseconds, busyNanoseconds }) => Math.max(nanoseconds, busyNanoseconds)))
  const computed = sumsBefore(stages.map((stage) => stage.nanoseconds))
  const all = before[stages.length]!
  const byWritten = [...tensors].sort((a, b) => a.written - b.written)
  const byWanted = [...tensors].sort((a, b) => b.backward - a.backward)
  // Bytes that are freed but not moved, and a nanosecond by which each transfer may be rounded.
  const unmoved = tensors.reduce((sum, { bytes, movedBytes }) => sum + bytes - movedBytes, 0)
  const rounding = tensors.length
  const nanoseconds = (bytes: number, rate: number): number => nanosecondsAt(bytes, rate) - rounding
  /** From the step's start until so many bytes have left, which may go before a stage. */
  const untilLeft = (stage: number, bytes: number): number => {
    let [least, earlier] = [0, 0]
    for (const { forward, written, movedBytes } of byWritten) {
      if (forward >= stage) continue
      if (earlier >= bytes) break
      least = Math.max(least, before[written + 1]! + nanoseconds(bytes - earlier, toHost))
      earlier += movedBytes
    }
    return least
  }
  /** From a stage's end to the step's, where so many bytes come back. */
  const sinceBack = (stage: number, bytes: number, away: readonly SwappableTensor[]): number => {
    let [least, later] = [0, 0]
    for (const tensor of away) {
      if (later >= bytes) break
      least = Math.max(least, nanoseconds(bytes - later, toDevice) + all - before[wantedBy(tensor, stage) + 1]!)
      later += tensor.movedBytes
    }
    return least
  }
  return (deviceBytes) => {
    let least = all
    for (let stage = 0; stage < stages.length; stage++) {
      const excess = stages[stage]!.liveBytes - deviceBytes
      if (excess <= 0) continue
      const away: SwappableTensor[] = []
      let awayBytes = 0
      for (const tensor of byWanted) {
        if (!mayBeAway(tensor, stage, returns)) continue
        away.push(tensor)
        awayBytes += tensor.bytes
      }
      if (awayBytes < excess) return Infinity
      // What comes back once is wanted in the same order in all stages.
      if (returns === 'again') away.sort((a, b) => wantedBy(b, stage) - wantedBy(a, stage))
      const moved = excess - unmoved
      const [owedBefore, owedAfter] = [copies.toHost, copies.toDevice].map((rate) => Math.max(0, nanoseconds(moved, rate)))
      const left = Math.max(before[stage]!, computed[stage]! + owedBefore!, untilLeft(stage, moved))
      const rest = Math.max(
        all - before[stage + 1]!,
        computed[stages.length]! - computed[stage + 1]! + owedAfter!,
        sinceBack(stage, moved, away)
      )
      least = Math.max(least, left + before[stage + 1]! - before[stage]! + rest)
    }
    return least
  }
}
