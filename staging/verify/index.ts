import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Program } from '../program/program'
import type { Event, ProgramEvents } from './events'
import { proveAdded } from './added'
import { programEvents } from './program-events'
import { proveComplete } from './complete'
import { proveStepIo } from './step-io'
import { fail, catchFault, type VerifierFault } from './fault'
import { proveInitialised, type Initialised } from './initialised'
import { mappedPeak, proveMapped } from './mapped'
import { proveMerged } from './merged'
import { proveNoOverlaps } from './overlaps'
import { proveNoRaces } from './races'
import { proveReduced } from './reduced'
import { proveShardsOfOptimizer } from './shards-of-optimizer'
import { proveSeeds } from './seeds'
import { proveSent } from './sent'
import { proveAllRead } from './unread'

export type { VerifierFault } from './fault'
export { type RankSummary, summariseRank } from './rank-summary'
export { decodeRankSummary } from './rank-summary-codec'
export { verifyRanks, verifySummaries } from './ranks'

/** The figures that are proven of a Program. */
export interface Verified {
  /**
   * Highest byte that any section touches in the arena, plus one; with pages, of the memory that
   * is ever mapped.
   */
  readonly peakBytes: number
  /** Peak of the host pool in bytes. */
  readonly hostPeakBytes: number
  /** Instructions that were read; a loop's body counts once. */
  readonly instructions: number
}

const count = (events: readonly Event[]): number =>
  events.reduce((sum, event) => sum + (event.kind === 'loop' ? 1 + count(event.body) : 1), 0)

/** Highest byte that the sections touch in a space, plus one. */
const findPeak = ({ stores, sections }: ProgramEvents, space: 'arena' | 'host'): number => {
  const highest = (events: readonly Event[]): number => {
    let peak = 0
    for (const event of events)
      if (event.kind === 'loop') peak = Math.max(peak, highest(event.body))
      else if (event.kind === 'access')
        for (const { store, range } of event.accesses) {
          const { space: where, offset } = stores[store]!
          if (where === space) peak = Math.max(peak, offset + range[1])
        }
    return peak
  }
  return sections.reduce((peak, { events }) => Math.max(peak, highest(events)), 0)
}

/** A persistent tensor stands for one of the buffers that live throughout. */
const provePersistentTensors = ({ persistentTensors, buffers, hostBuffers }: Program): void => {
  const places = (all: Program['buffers']): ReadonlySet<string> =>
    new Set(all.flatMap(({ role, offset, bytes }) => (role === 'persistent' ? [`${offset},${bytes}`] : [])))
  const [device, host] = [places(buffers), places(hostBuffers)]
  for (const { name, offset, bytes, onHost } of persistentTensors)
    if (!(onHost ? host : device).has(`${offset},${bytes}`))
      fail({
        kind: 'form',
        message: `the persistent tensor ${name} of ${bytes} bytes at ${offset} has no buffer that lives throughout.`,
        buffer: name
      })
}

const prove = (program: Program, events: ProgramEvents): Verified => {
  const { stores, sections } = events
  provePersistentTensors(program)
  proveReduced(program)
  proveAdded(program)
  proveShardsOfOptimizer(program)
  let restored: Initialised = new Map()
  for (const section of sections) {
    proveMapped(program, events, section)
    proveNoOverlaps(events, section)
    const written = proveInitialised(events, section, restored)
    if (section.name === 'restore')
      restored = new Map(stores.flatMap(({ role }, store) => (role === 'persistent' ? [[store, written.of(store)] as const] : [])))
    proveNoRaces(events, section)
    proveSeeds(events, section)
    proveMerged(program, events, section)
    proveSent(program, events, section)
    proveComplete(program, events, section)
    proveStepIo(program, events, section, written)
    proveAllRead(events, section)
  }
  const peakBytes = program.pages === undefined ? findPeak(events, 'arena') : mappedPeak(program.pages, events)
  if (peakBytes !== program.peakBytes)
    fail({
      kind: 'peak',
      message: `the Program says that its peak is ${program.peakBytes} bytes, but it ${program.pages === undefined ? 'touches' : 'maps'} ${peakBytes}.`
    })
  const instructions = sections.reduce((sum, section) => sum + count(section.events), 0)
  return { peakBytes, hostPeakBytes: findPeak(events, 'host'), instructions }
}

/**
 * Proves, from the Program alone, that it may run: every access lies in its buffer, its space and
 * the budgeted peak; every read is of bytes that were written before; no two live buffers overlap;
 * no engine touches bytes that another may still be working on; what pages are mapped to is used
 * while they are; tiles seed each element of an output gradient once; ranks add each gradient once,
 * and read the statistics of all. Loops are proven for all of their tiles at once. What it cannot
 * show, it refuses.
 */
export const verify = (program: Program): E.Either<VerifierFault, Verified> =>
  pipe(
    programEvents(program),
    E.chain((events) => catchFault(() => prove(program, events)))
  )
