import type { KernelKind } from '../kernels/kernels'
import type { Program } from '../program/program'
import type { Access, Event, ProgramEvents, SectionEvents } from './events'
import { fail, operandFault, type Place } from './fault'

/** What a rank has of statistics: its own part, what it has received of all, or all of them. */
type State = { readonly kind: 'part' | 'whole' } | { readonly kind: 'received'; readonly store: number }

const isMerging = (kind: KernelKind): boolean => kind === 'mergeMoments' || kind === 'addSums'

/** Kernels that read a rank's own part: gradients of parameters are added over ranks later. */
const readsPart = (kind: KernelKind): boolean => kind === 'normaliseParameters'

/**
 * Proves of a Program whose ranks share rows that the statistics which it names are those of all
 * ranks where they are read: after the last part of its own a rank gathers those of all, in their
 * order, and merges them once; nothing is added behind.
 */
export const proveMerged = ({ shard }: Program, { stores }: ProgramEvents, { events }: SectionEvents): void => {
  if (shard === undefined) return
  const named = new Set(shard.merged)
  const isNamed = ({ store }: Access): boolean => stores[store]!.space === 'arena' && named.has(stores[store]!.name)
  const states = new Map<number, State>()
  /** Of what is received and not yet merged: the statistics that it is of. */
  const waiting = new Map<number, number>()
  const overwrite = (store: number): void => {
    const owner = waiting.get(store)
    if (owner !== undefined && states.get(owner)?.kind === 'received') states.set(owner, { kind: 'part' })
    waiting.delete(store)
  }
  const refuse = (place: Place, { store, operand, range }: Access, sentence: string): never =>
    fail(operandFault('exchange', place, operand, stores[store]!.name, range, sentence))
  const gather = (place: Place, [sent, received]: readonly Access[]): void => {
    if (sent === undefined || received === undefined || !isNamed(sent)) return
    const { bytes, name } = stores[sent.store]!
    const isWhole = sent.base === 0 && sent.run === bytes && sent.repeats.every(({ stride }) => stride === 0)
    const isInOrder = received.base === 0 && received.run === bytes && received.repeats.every(({ stride }) => stride === bytes)
    if (!isWhole || !isInOrder) refuse(place, sent, `does not bring all of "${name}" of all ranks in their order`)
    states.set(sent.store, { kind: 'received', store: received.store })
    waiting.set(received.store, sent.store)
  }
  const merge = (place: Place, [source, merged]: readonly Access[], parts: number): void => {
    if (source === undefined || merged === undefined || !isNamed(merged)) return
    const { bytes, name } = stores[merged.store]!
    const state = states.get(merged.store)
    if (state?.kind !== 'received' || state.store !== source.store || source.base !== 0)
      refuse(place, merged, `is not of what all ranks have of "${name}"`)
    if (parts !== shard.count || merged.run !== bytes)
      refuse(place, merged, `is of ${parts} parts of ${merged.run} bytes, where ${shard.count} ranks have ${bytes} bytes of "${name}"`)
    states.set(merged.store, { kind: 'whole' })
  }
  const walk = (list: readonly Event[]): void => {
    for (const event of list) {
      // What one iteration leaves, the next one finds.
      if (event.kind === 'loop') Array.from({ length: Math.min(2, event.loop.count) }, () => walk(event.body))
      if (event.kind !== 'access') continue
      const { kernel, place, accesses } = event
      for (const { use, store } of accesses) if (use !== 'read') overwrite(store)
      if (kernel === undefined) gather(place, accesses)
      else if (isMerging(kernel.kind)) merge(place, accesses, (kernel as { readonly parts: number }).parts)
      else
        for (const access of accesses.filter(isNamed)) {
          const state = states.get(access.store)
          const { name } = stores[access.store]!
          if (access.use === 'write') states.set(access.store, { kind: 'part' })
          else if (access.use === 'accumulate' && state?.kind !== 'part')
            refuse(place, access, `adds to "${name}", which ranks have merged already`)
          else if (access.use === 'read' && (state?.kind === 'part') !== readsPart(kernel.kind))
            refuse(place, access, `reads ${readsPart(kernel.kind) ? 'what all ranks have' : "this rank's part alone"} of "${name}"`)
          else if (access.use === 'read' && state?.kind === 'received')
            refuse(place, access, `reads "${name}" before what ranks have of it is merged`)
        }
    }
  }
  walk(events)
}
