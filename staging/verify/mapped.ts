import type { Program } from '../program/program'
import type { Event, Mapping, ProgramEvents, SectionEvents } from './events'
import { fail, instructionFault, operandFault, rangeText } from './fault'

const overlap = (a: number, aBytes: number, b: number, bBytes: number): boolean => a < b + bBytes && b < a + aBytes

/** The pages that are mapped now, by address. */
class Mapped {
  private readonly live: Mapping[] = []

  /** The place of the first one that ends above an address. */
  private placeOf(address: number): number {
    let [low, high] = [0, this.live.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.live[middle]!.address + this.live[middle]!.bytes <= address) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Maps a page; returns why it cannot be mapped, in words. */
  add(mapping: Mapping): string | undefined {
    const { address, memory, bytes } = mapping
    const place = this.placeOf(address)
    const next = this.live[place]
    if (next !== undefined && next.address < address + bytes)
      return `maps to ${rangeText([address, address + bytes])}, where something is mapped`
    const twice = this.live.find((one) => overlap(memory, bytes, one.memory, one.bytes))
    if (twice !== undefined)
      return `maps ${rangeText([memory, memory + bytes])} of the memory, of which some are mapped at ${twice.address} too`
    this.live.splice(place, 0, mapping)
    return undefined
  }

  /** Takes away whole mappings that fill a range; false where they do not. */
  remove(address: number, bytes: number): boolean {
    const first = this.placeOf(address)
    let end = first
    let reached = address
    while (end < this.live.length && reached < address + bytes && this.live[end]!.address === reached) reached += this.live[end++]!.bytes
    if (reached !== address + bytes) return false
    this.live.splice(first, end - first)
    return true
  }

  covers([from, to]: readonly [number, number]): boolean {
    let reached = from
    for (let place = this.placeOf(from); reached < to; place++) {
      const one = this.live[place]
      if (one === undefined || one.address > reached) return false
      reached = one.address + one.bytes
    }
    return true
  }

  first(): Mapping | undefined {
    return this.live[0]
  }
}

/**
 * Proves, of a Program with pages, that all that a section touches is mapped then, that nothing is
 * mapped twice, and that it leaves mapped what it found so: what is resident.
 */
export const proveMapped = ({ pages, buffers }: Program, { stores }: ProgramEvents, { name, events }: SectionEvents): void => {
  if (pages === undefined) return
  const { residentBytes } = pages
  const outside = buffers.find(({ role, offset, bytes }) => role === 'persistent' && offset + bytes > residentBytes)
  if (outside !== undefined)
    fail({
      kind: 'mapping',
      message: `the persistent tensor "${outside.name}" lies beyond the ${residentBytes} bytes that are always mapped.`,
      buffer: outside.name
    })
  const mapped = new Mapped()
  const isResident = (address: number): boolean => address < residentBytes
  const walk = (list: readonly Event[]): void => {
    for (const event of list)
      if (event.kind === 'loop') walk(event.body)
      else if (event.kind === 'map') {
        const { address, memory, bytes } = event.mapping
        const resident = isResident(address) || memory < residentBytes
        const wrong = resident ? `maps ${bytes} bytes of what is always mapped` : mapped.add({ address, memory, bytes })
        if (wrong !== undefined) fail(instructionFault('mapping', event.place, wrong))
      } else if (event.kind === 'unmap') {
        const { address, bytes } = event.mapping
        if (isResident(address) || !mapped.remove(address, bytes)) {
          const range = rangeText([address, address + bytes])
          fail(instructionFault('mapping', event.place, `unmaps ${range}, which are not what was mapped`))
        }
      } else if (event.kind === 'access')
        for (const { store, operand, range } of event.accesses) {
          const { space, offset, name: buffer } = stores[store]!
          const touched = [Math.max(residentBytes, offset + range[0]), offset + range[1]] as const
          if (space !== 'arena' || touched[1] <= residentBytes || mapped.covers(touched)) continue
          fail(
            operandFault('mapping', event.place, operand, buffer, range, `reaches ${rangeText(range)} of "${buffer}", which are not mapped`)
          )
        }
  }
  walk(events)
  const left = mapped.first()
  if (left !== undefined)
    fail({
      kind: 'mapping',
      message: `${name}: ${rangeText([left.address, left.address + left.bytes])} are still mapped at its end.`,
      section: name
    })
}

/** The end of the highest memory that any section maps, in bytes. */
export const mappedPeak = ({ residentBytes }: NonNullable<Program['pages']>, { sections }: ProgramEvents): number =>
  sections.reduce(
    (peak, { events }) =>
      events.reduce((most, event) => (event.kind === 'map' ? Math.max(most, event.mapping.memory + event.mapping.bytes) : most), peak),
    residentBytes
  )
