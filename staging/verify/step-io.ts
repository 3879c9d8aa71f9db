import { isCount } from './accesses'
import type { Event, ProgramEvents, SectionEvents } from './events'
import { accessBoxes } from './access-boxes'
import { subtract } from './boxes'
import type { Program, SectionName } from '../program/program'
import { fail, rangeText, type VerifierFault } from './fault'
import { bytesSpanned, type WrittenBytes } from './initialised'

const stepIoFault = (section: string, name: string, bytes: readonly [number, number], how: string): VerifierFault => ({
  kind: 'stepIo',
  message: `${section}: ${how} ${rangeText(bytes)} of "${name}".`,
  section,
  buffer: name,
  bytes
})

/** Fails unless the values of an I/O buffer lie inside of it, and share no byte. */
const provePlaces = ({ stores }: ProgramEvents, { name: section, stepIo }: SectionEvents, stepIoBytes: number): void => {
  const values = stores.slice(...stepIo).sort((a, b) => a.offset - b.offset)
  values.forEach(({ name, offset, bytes }, place) => {
    const before = values[place - 1]
    if (!(Number.isSafeInteger(offset) && offset >= 0 && isCount(bytes) && offset + bytes <= stepIoBytes))
      fail({ kind: 'form', message: `${section}: "${name}" has no place in ${stepIoBytes} bytes.`, section, buffer: name })
    if (before !== undefined && before.offset + before.bytes > offset)
      fail(stepIoFault(section, name, [0, before.offset + before.bytes - offset], `"${before.name}" shares`))
  })
}

/**
 * Proves that a section uses every value of its I/O buffer, and hands out all of each that it does
 * not only read; `save` hands out all.
 */
export const proveStepIo = (program: Program, all: ProgramEvents, one: SectionEvents, written: WrittenBytes): void => {
  const { stores, coordinates } = all
  const { name: section, events, stepIo } = one
  provePlaces(all, one, program[section as SectionName]!.stepIoBytes)
  const used = new Set<number>()
  const given = new Set<number>()
  const walk = (list: readonly Event[]): void => {
    for (const event of list)
      if (event.kind === 'loop') walk(event.body)
      else if (event.kind === 'access')
        for (const { store, use } of event.accesses) {
          used.add(store)
          if (use !== 'read') given.add(store)
        }
  }
  walk(events)
  for (let store = stepIo[0]; store < stepIo[1]; store++) {
    const { name, bytes } = stores[store]!
    if (!used.has(store)) fail(stepIoFault(section, name, [0, bytes], 'no instruction touches'))
    if (section !== 'save' && !given.has(store)) continue
    const missing = subtract(accessBoxes(coordinates[store]!, { base: 0, repeats: [], run: bytes }).boxes, written.of(store))
    if (missing.length > 0) fail(stepIoFault(section, name, bytesSpanned(coordinates[store]!, missing), 'no instruction writes'))
  }
}
