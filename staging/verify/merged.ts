import type { KernelKind } from '../kernels/kernels'
import type { Program } from '../program/program'
import type { Access, Event, ProgramEvents, SectionEvents } from './events'
import { fail, operandFault, type InstructionPlace } from './fault'
import { gathersAll } from './gathered'

/** What a rank has of statistics: its own part, what it has received of all, or all of them. */
type State = { readonly kind: 'part' | 'whole' } | { readonly kind: 'received'; readonly store: number }

const isMerging = (kind: KernelKind): boolean => kind === 'mergeMoments' || kind === 'addSums' || kind === 'mergeMaxima'

/** The kernel that merges what one accumulates. */
const mergingKernel = (kind: KernelKind): KernelKind =>
  kind === 'momentsForward' ? 'mergeMoments' : kind === 'globalMaxPoolForward' ? 'mergeMaxima' : 'addSums'

/** Whether a part may be taken in once more; what was merged is then a part again. */
const mayTakeInAgain = (kind: KernelKind): boolean => kind === 'globalMaxPoolForward'

/** Kernels that read a rank's own part: gradients of parameters are added over ranks later. */
const readsPart = (kind: KernelKind): boolean => kind === 'normaliseParameters'

/**
 * Proves of a Program whose ranks share rows that the statistics which it names are those of all
 * ranks where they are read: after the last part of its own a rank gathers those of all, in their
 * order, and merges them once; nothing is added behind. What a step leaves to the section `reduce`,
 * which hands it to other groups, is merged.
 */
export const proveMerged = ({ shard }: Program, { stores }: ProgramEvents, { name: section, events }: SectionEvents): void => {
  if (shard === undefined || section === 'reduce') return
  const named = new Set(shard.merged)
  const isNamed = ({ store }: Access): boolean => stores[store]!.space === 'arena' && named.has(stores[store]!.name)
  const states = new Map<number, State>()
  /** Of what is received and not yet merged: the statistics that it is of. */
  const waiting = new Map<number, number>()
  /** Which kernel merges each. */
  const mergers = new Map<number, KernelKind>()
  /** What is made of named maxima, of a part as long as they are one. */
  const pooled = new Set<number>()
  const isFollowed = (access: Access): boolean => isNamed(access) || pooled.has(access.store)
  const overwrite = (store: number): void => {
    const owner = waiting.get(store)
    if (owner !== undefined && states.get(owner)?.kind === 'received') states.set(owner, { kind: 'part' })
    waiting.delete(store)
  }
  const refuse = (place: InstructionPlace, { store, operand, range }: Access, sentence: string): never =>
    fail(operandFault('exchange', place, operand, stores[store]!.name, range, sentence))
  const gather = (place: InstructionPlace, [sent, received]: readonly Access[]): void => {
    if (sent === undefined || received === undefined || !isNamed(sent)) return
    const owner = stores[sent.store]!
    if (!gathersAll(owner, sent, received)) refuse(place, sent, `does not bring all of "${owner.name}" of all ranks in their order`)
    states.set(sent.store, { kind: 'received', store: received.store })
    waiting.set(received.store, sent.store)
  }
  const merge = (kernel: KernelKind, place: InstructionPlace, [source, merged, made]: readonly Access[], parts: number): void => {
    if (source === undefined || merged === undefined || !isNamed(merged)) return
    const { bytes, name } = stores[merged.store]!
    const state = states.get(merged.store)
    if (state?.kind !== 'received' || state.store !== source.store || source.base !== 0)
      refuse(place, merged, `is not of what all ranks have of "${name}"`)
    const merger = mergers.get(merged.store)
    if (merger !== undefined && merger !== kernel) refuse(place, merged, `is made of "${name}" as ${merger} would not`)
    if (parts !== shard.count || merged.run !== bytes)
      refuse(place, merged, `is of ${parts} parts of ${merged.run} bytes, where ${shard.count} ranks have ${bytes} bytes of "${name}"`)
    states.set(merged.store, { kind: 'whole' })
    if (made !== undefined) states.set(made.store, { kind: 'whole' })
  }
  const follow = (kernel: KernelKind, place: InstructionPlace, accesses: readonly Access[]): void => {
    if (kernel === 'globalMaxPoolForward' && accesses.some(isNamed))
      for (const { use, store } of accesses) if (use === 'write') pooled.add(store)
    for (const access of accesses.filter(isFollowed)) {
      const state = states.get(access.store)
      const { name } = stores[access.store]!
      if (access.use === 'accumulate') mergers.set(access.store, mergingKernel(kernel))
      if (access.use === 'write' || (access.use === 'accumulate' && mayTakeInAgain(kernel))) states.set(access.store, { kind: 'part' })
      else if (access.use === 'accumulate' && state?.kind !== 'part')
        refuse(place, access, `adds to "${name}", which ranks have merged already`)
      else if (access.use === 'read' && (state?.kind === 'part') !== readsPart(kernel))
        refuse(place, access, `reads ${readsPart(kernel) ? 'what all ranks have' : "this rank's part alone"} of "${name}"`)
      else if (access.use === 'read' && state?.kind === 'received')
        refuse(place, access, `reads "${name}" before what ranks have of it is merged`)
    }
  }
  const walk = (list: readonly Event[]): void => {
    for (const event of list) {
      // What one iteration leaves, the next one finds.
      if (event.kind === 'loop') Array.from({ length: Math.min(2, event.loop.count) }, () => walk(event.body))
      if (event.kind !== 'access') continue
      const { kernel, place, accesses } = event
      for (const { use, store } of accesses) if (use !== 'read') overwrite(store)
      if (kernel === undefined) gather(place, accesses)
      else if (isMerging(kernel.kind)) merge(kernel.kind, place, accesses, (kernel as { readonly parts: number }).parts)
      else follow(kernel.kind, place, accesses)
    }
  }
  walk(events)
  if (section !== 'step') return
  for (const [store, { kind }] of states) {
    const { name, role } = stores[store]!
    if (kind !== 'whole' && role === 'persistent' && named.has(name))
      fail({ kind: 'exchange', message: `${section}: leaves this rank's part alone of "${name}".`, section, buffer: name })
  }
}
