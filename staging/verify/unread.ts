import type { Access, Event, ProgramEvents, SectionEvents } from './events'
import { fail, operandFault, rangeText, type InstructionPlace } from './fault'

/**
 * Kernels of which one output may be wanted and not the other: forward reads a pool's maxima,
 * backward which inputs they were.
 */
const anyOutput: readonly string[] = ['maxPoolForward']

/** Operands that a kernel adds to, and makes another output of. */
const alsoRead: { readonly [kernel: string]: string } = { globalMaxPoolForward: 'maxima' }

/**
 * Proves that nothing is computed in vain: what a section writes, it reads, or hands out, or leaves
 * to the next section. An instruction that was left out is thus found by what it would have read.
 */
export const proveAllRead = ({ stores }: ProgramEvents, { events }: SectionEvents): void => {
  const read = new Set<number>()
  const writers: { readonly place: InstructionPlace; readonly written: readonly Access[] }[] = []
  const walk = (list: readonly Event[]): void => {
    for (const event of list)
      if (event.kind === 'loop') walk(event.body)
      else if (event.kind === 'access') {
        for (const { use, store, operand } of event.accesses)
          if (use === 'read' || alsoRead[event.place.kernel] === operand) read.add(store)
        writers.push({ place: event.place, written: event.accesses.filter(({ use }) => use === 'write' || use === 'accumulate') })
      }
  }
  walk(events)
  const isWanted = ({ store }: Access): boolean => {
    const { space, role } = stores[store]!
    return read.has(store) || space === 'stepIo' || role === 'persistent' || role === 'unwanted'
  }
  for (const { place, written } of writers) {
    if (anyOutput.includes(place.kernel) && written.some(isWanted)) continue
    const access = written.find((one) => !isWanted(one))
    if (access === undefined) continue
    const { name } = stores[access.store]!
    const sentence = `writes ${rangeText(access.range)} of "${name}", which nothing reads`
    fail(operandFault('unread', place, access.operand, name, access.range, sentence))
  }
}
