import { gradientNames } from '../program/network-instructions'
import type { Program } from '../program/program'
import type { Access, Event, ProgramEvents, SectionEvents } from './events'
import { fail, operandFault } from './fault'

/**
 * Proves that what a step sends of a gradient is complete: nothing of the step writes these bytes
 * behind, so that nothing is left out of what other ranks add.
 */
export const proveComplete = (
  { persistentTensors }: Program,
  { stores }: ProgramEvents,
  { name: section, events }: SectionEvents
): void => {
  if (section !== 'step') return
  const gradients = gradientNames(persistentTensors)
  const isGradient = ({ store }: Access): boolean => stores[store]!.role === 'persistent' && gradients.has(stores[store]!.name)
  const sent = new Map<number, (readonly [from: number, to: number])[]>()
  const walk = (list: readonly Event[]): void => {
    for (const event of list) {
      if (event.kind === 'loop') walk(event.body)
      if (event.kind !== 'access') continue
      for (const access of event.accesses.filter(isGradient)) {
        const { store, use, range, operand } = access
        const known = sent.get(store) ?? []
        if (use !== 'read' && known.some(([from, to]) => range[0] < to && from < range[1])) {
          const { name } = stores[store]!
          fail(operandFault('exchange', event.place, operand, name, range, `writes to "${name}" behind what it has sent of it`))
        }
        if (event.engine === 'network' && event.kernel === undefined) sent.set(store, [...known, range])
      }
    }
  }
  walk(events)
}
