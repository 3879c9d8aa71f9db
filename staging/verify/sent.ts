import type { Program } from '../program/program'
import { accessBoxes } from './access-boxes'
import { overlap, repeatBoxes, type Box } from './boxes'
import type { Access, Event, OpenLoop, ProgramEvents, SectionEvents } from './events'
import { fail, operandFault, type InstructionPlace } from './fault'

type AccessEvent = Extract<Event, { readonly kind: 'access' }>

/** What was packed of a tensor, and waits to be sent. */
interface Packed {
  readonly tensor: number
  readonly boxes: readonly Box[]
}

/** A sum of what ranks have: the stores whose parts are added, in the order of ranks. */
interface OpenSum {
  /** By rank; undefined for this one's own part, of which a copy was made. */
  readonly parts: readonly (number | undefined)[]
  readonly taken: number
}

const isExchange = ({ place }: AccessEvent): boolean => place.kernel === 'exchange'

const listEvents = (list: readonly Event[]): readonly AccessEvent[] =>
  list.flatMap((event) => (event.kind === 'loop' ? listEvents(event.body) : event.kind === 'access' ? [event] : []))

/**
 * Proves of what a step packs for other ranks that it is what the tensor has in the end: nothing
 * writes over what is packed before it is sent, nor to what it was packed of behind that. A sum
 * of what all ranks have is made of each one's part, its own among them, once and in their order.
 */
export const proveSent = ({ shard }: Program, { stores, coordinates }: ProgramEvents, { name: section, events }: SectionEvents): void => {
  if (section !== 'step' || shard === undefined) return
  const exchanges = listEvents(events).filter(isExchange)
  const going = new Set(exchanges.flatMap(({ accesses }) => accesses.flatMap(({ use, store }) => (use === 'read' ? [store] : []))))
  const packed = new Map<number, Packed>()
  /** Of a tensor, what was packed of it and is not to change. */
  const guarded = new Map<number, readonly Box[]>()
  const sums = new Map<number, OpenSum>()
  /** Copies of whole sums: this rank's own parts. */
  const ownParts = new Map<number, number>()
  const refuse = (place: InstructionPlace, { store, operand, range }: Access, sentence: string): never =>
    fail(operandFault('exchange', place, operand, stores[store]!.name, range, sentence))
  const boxesOf = (access: Access, loops: readonly OpenLoop[]): readonly Box[] => {
    const system = coordinates[access.store]!
    return loops.reduceRight(
      (boxes, { axis, count }) => repeatBoxes(system, boxes, access.strides[axis]!, count).boxes,
      accessBoxes(system, access).boxes
    )
  }
  const isSum = (store: number): boolean => stores[store]!.share?.kind !== 'part'
  const pack = (source: Access, destination: Access): void => {
    const boxes = boxesOf(source, [])
    packed.set(destination.store, { tensor: source.store, boxes })
    guarded.set(source.store, [...(guarded.get(source.store) ?? []), ...boxes])
  }
  const exchange = ({ accesses, place }: AccessEvent): void => {
    const [sends, receives] = [accesses.filter(({ use }) => use === 'read'), accesses.filter(({ use }) => use !== 'read')]
    for (const access of sends)
      if (!packed.has(access.store)) refuse(place, access, `sends "${stores[access.store]!.name}", which nothing has packed`)
    const tensors = new Set(sends.flatMap(({ store }) => [packed.get(store)!.tensor]))
    for (const { store } of sends) packed.delete(store)
    for (const tensor of tensors)
      if (isSum(tensor)) {
        const others = receives.map(({ store }) => store)
        sums.set(tensor, { parts: [...others.slice(0, shard.index), undefined, ...others.slice(shard.index)], taken: 0 })
        guarded.delete(tensor)
      }
  }
  /** Takes a part of a sum, where it is the next one; tells whether the event does so. */
  const takes = ({ kernel, accesses: [source, destination], place }: AccessEvent): boolean => {
    const sum = destination && sums.get(destination.store)
    if (kernel?.kind !== 'copyBox' || source === undefined || destination === undefined || sum === undefined) return false
    const next = sum.parts[sum.taken]
    const isNext = next === undefined ? ownParts.get(source.store) === destination.store : source.store === next
    const { name } = stores[destination.store]!
    if (!isNext || kernel.add !== (sum.taken === 0 ? 0 : 1))
      refuse(place, destination, `adds parts of "${name}" in another order than of ranks`)
    if (sum.taken + 1 === sum.parts.length) sums.delete(destination.store)
    else sums.set(destination.store, { ...sum, taken: sum.taken + 1 })
    return true
  }
  const check = (event: AccessEvent, loops: readonly OpenLoop[]): void => {
    const { kernel, accesses, place } = event
    const [source, destination] = accesses
    const isCopy = kernel?.kind === 'copyBox' && source !== undefined && destination !== undefined
    if (takes(event)) return
    if (isCopy && sums.get(source.store)?.taken === 0) {
      ownParts.set(destination.store, source.store)
      return
    }
    for (const access of accesses) {
      const { name } = stores[access.store]!
      if (sums.has(access.store)) refuse(place, access, `uses "${name}" before the parts of all ranks are added`)
      if (access.use === 'read') continue
      if (packed.has(access.store)) refuse(place, access, `writes over "${name}" before it is sent`)
      const kept = guarded.get(access.store)
      if (kept !== undefined && boxesOf(access, loops).some((box) => kept.some((one) => overlap(box, one))))
        refuse(place, access, `writes to "${name}" behind what is packed of it for other ranks`)
    }
    if (isCopy && going.has(destination.store)) pack(source, destination)
  }
  const walk = (list: readonly Event[], loops: readonly OpenLoop[]): void => {
    for (const event of list)
      if (event.kind === 'loop') walk(event.body, [...loops, event.loop])
      else if (event.kind === 'access')
        if (isExchange(event)) exchange(event)
        else check(event, loops)
  }
  walk(events, [])
  for (const [tensor] of sums) {
    const { name } = stores[tensor]!
    fail({ kind: 'exchange', message: `${section}: leaves out parts of "${name}" of some ranks.`, section, buffer: name })
  }
}
