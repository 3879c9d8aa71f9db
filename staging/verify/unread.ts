import type { Access, Event, ProgramEvents, SectionEvents } from './accesses'
import { fail, operandFault, rangeText } from './fault'

/**
 * Proves that no launch works in vain: something reads what it writes, or it outlives the section. What a launch has left out is thus
 * found by what it would have read.
 */
export const proveAllRead = ({ stores }: ProgramEvents, { events }: SectionEvents): void => {
  const read = new Set<number>()
  const writers: { readonly event: Extract<Event, { readonly kind: 'access' }>; readonly written: readonly Access[] }[] = []
  const walk = (list: readonly Event[]): void => {
    for (const event of list)
      if (event.kind === 'loop') walk(event.body)
      else if (event.kind === 'access') {
        for (const { use, store } of event.accesses) if (use === 'read') read.add(store)
        const written = event.accesses.filter(({ use }) => use === 'write' || use === 'accumulate')
        if (written.length > 0) writers.push({ event, written })
      }
  }
  walk(events)
  const isUseful = ({ store }: Access): boolean => {
    const { space, role } = stores[store]!
    return read.has(store) || space === 'exchange' || role === 'resident'
  }
  for (const { event, written } of writers) {
    if (written.some(isUseful)) continue
    const { operand, store, range } = written[0]!
    const { name } = stores[store]!
    fail(operandFault('unread', event.place, operand, name, range, `writes ${rangeText(range)} of "${name}", which nothing reads`))
  }
}
