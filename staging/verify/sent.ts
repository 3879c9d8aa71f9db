import { isOfRows } from '../program/network-instructions'
import type { Program } from '../program/program'
import { accessBoxes } from './access-boxes'
import { overlap, repeatBoxes, type Box } from './boxes'
import type { Access, Event, OpenLoop, ProgramEvents, SectionEvents } from './events'
import { fail, operandFault, type InstructionPlace } from './fault'
import { gathersAll } from './gathered'

type AccessEvent = Extract<Event, { readonly kind: 'access' }>

/** A sum of what ranks have: the store in which all are gathered, and how many were added. */
interface OpenSum {
  readonly gathered: number
  readonly taken: number
}

const isExchange = ({ place }: AccessEvent): boolean => place.kernel === 'exchange'
const isGathering = ({ place }: AccessEvent): boolean => place.kernel === 'allToAll'

const listEvents = (list: readonly Event[]): readonly AccessEvent[] =>
  list.flatMap((event) => (event.kind === 'loop' ? listEvents(event.body) : event.kind === 'access' ? [event] : []))

/**
 * Proves of what a step packs for other ranks that it is what the tensor has in the end: nothing
 * writes over what is packed before it is sent, nor to what it was packed of behind that. A sum
 * of what all ranks have, other than statistics that it names, is made of each one's part, its
 * own among them, once and in their order.
 */
export const proveSent = (
  { shard }: Pick<Program, 'shard'>,
  { stores, coordinates }: ProgramEvents,
  { name: section, events }: SectionEvents
): void => {
  if (section !== 'step' || shard === undefined) return
  const gathersRows = ({ accesses: [sent] }: AccessEvent): boolean => sent !== undefined && isOfRows({ shard }, stores[sent.store]!)
  const exchanges = listEvents(events).filter((event) => isExchange(event) || (isGathering(event) && gathersRows(event)))
  const going = new Set(exchanges.flatMap(({ accesses }) => accesses.flatMap(({ use, store }) => (use === 'read' ? [store] : []))))
  /** What waits to be sent, and the tensor of which it was packed. */
  const packed = new Map<number, number>()
  /** What holds the rows of all ranks, and of which tensor. */
  const gathered = new Map<number, number>()
  /** Of a tensor, what was packed of it and is not to change. */
  const guarded = new Map<number, readonly Box[]>()
  const sums = new Map<number, OpenSum>()
  /** What all ranks' parts are in, or what is made of it. */
  const whole = new Set<number>()
  /** What must have all ranks' parts in the end. */
  const summed = new Set<number>()
  const refuse = (place: InstructionPlace, { store, operand, range }: Access, sentence: string): never =>
    fail(operandFault('exchange', place, operand, stores[store]!.name, range, sentence))
  const boxesOf = (access: Access, loops: readonly OpenLoop[]): readonly Box[] => {
    const system = coordinates[access.store]!
    return loops.reduceRight(
      (boxes, { axis, count }) => repeatBoxes(system, boxes, access.strides[axis]!, count).boxes,
      accessBoxes(system, access).boxes
    )
  }
  const named = new Set(shard.merged)
  const isSum = (store: number): boolean => stores[store]!.role !== 'persistent' && !named.has(stores[store]!.name)
  const pack = (source: Access, destination: Access): void => {
    packed.set(destination.store, source.store)
    guarded.set(source.store, [...(guarded.get(source.store) ?? []), ...boxesOf(source, [])])
  }
  const exchange = ({ accesses, place }: AccessEvent): void => {
    const sends = accesses.filter(({ use }) => use === 'read')
    for (const access of sends)
      if (!packed.has(access.store)) refuse(place, access, `sends "${stores[access.store]!.name}", which nothing has packed`)
    for (const { store } of sends) packed.delete(store)
  }
  const gather = (event: AccessEvent): void => {
    const { accesses, place } = event
    const [sent, received] = accesses
    if (sent === undefined || received === undefined || !isSum(sent.store)) return
    const owner = stores[sent.store]!
    if (!gathersAll(owner, sent, received)) refuse(place, sent, `does not bring all of "${owner.name}" of all ranks in their order`)
    if (!gathersRows(event)) return void sums.set(sent.store, { gathered: received.store, taken: 0 })
    const tensor = packed.get(sent.store)
    if (tensor !== undefined) gathered.set(received.store, tensor)
    exchange(event)
  }
  /** Takes the first part of a sum, or all others; tells whether the event does so. */
  const takes = ({ kernel, accesses: [source, destination], place }: AccessEvent): boolean => {
    const sum = destination && sums.get(destination.store)
    if (kernel?.kind !== 'copyBox' || source === undefined || destination === undefined || sum === undefined) return false
    const { bytes, name } = stores[destination.store]!
    const [parts, isFirst] = [kernel.n1 * kernel.n2 === 1 ? kernel.n0 : 0, sum.taken === 0]
    const isNext =
      source.store === sum.gathered &&
      source.base === sum.taken * bytes &&
      source.run === bytes &&
      destination.base === 0 &&
      destination.run === bytes &&
      kernel.add === (isFirst ? 0 : 1) &&
      parts === (isFirst ? 1 : shard.count - 1) &&
      (parts === 1 || (kernel.destinationStride0 === 0 && kernel.sourceStride0 === kernel.n3))
    if (!isNext) refuse(place, destination, `adds parts of "${name}" in another order than of ranks`)
    if (isFirst && shard.count > 1) sums.set(destination.store, { ...sum, taken: 1 })
    else {
      sums.delete(destination.store)
      whole.add(destination.store)
    }
    return true
  }
  const check = (event: AccessEvent, loops: readonly OpenLoop[]): void => {
    const { kernel, accesses, place } = event
    const [source, destination] = accesses
    const isCopy = kernel?.kind === 'copyBox' && source !== undefined && destination !== undefined
    if (takes(event)) return
    const isOfWhole = kernel?.kind === 'mergeMaxima' || accesses.some(({ use, store }) => use === 'read' && whole.has(store))
    for (const access of accesses) {
      const { name, role, share } = stores[access.store]!
      if ((role === 'boundary' && share?.kind === 'sum') || (role === 'output-gradient' && share?.kind === 'alike'))
        summed.add(access.store)
      if (access.use !== 'read' && isOfWhole) whole.add(access.store)
      if (sums.has(access.store)) refuse(place, access, `uses "${name}" before the parts of all ranks are added`)
      if (access.use === 'read') continue
      if (packed.has(access.store)) refuse(place, access, `writes over "${name}" before it is sent`)
      // Of what all gather a rank's own rows come back to their place.
      if (isCopy && source.base === 0 && gathered.get(source.store) === access.store) continue
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
        else if (isGathering(event)) gather(event)
        else check(event, loops)
  }
  walk(events, [])
  for (const tensor of summed)
    if (!sums.has(tensor) && !whole.has(tensor)) {
      const { name } = stores[tensor]!
      fail({ kind: 'exchange', message: `${section}: leaves this rank's part alone of "${name}".`, section, buffer: name })
    }
  for (const [tensor] of sums) {
    const { name } = stores[tensor]!
    fail({ kind: 'exchange', message: `${section}: leaves out parts of "${name}" of some ranks.`, section, buffer: name })
  }
}
