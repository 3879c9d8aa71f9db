import { sameBytes, type Access, type Event, type OpenLoop, type ProgramEvents, type SectionEvents, type Store } from './events'
import { accessBoxes } from './access-boxes'
import { overlap, repeatBoxes, type Box } from './boxes'
import { fail, instructionFault, operandFault, rangeText, type InstructionPlace, type VerifierFault } from './fault'
import { worksInPlace } from '../kernels/kernels'

/** Times of use in program order, half-open. */
interface Life {
  from: number
  to: number
}

/**
 * Lives of the buffers, of the arena and of the host pool, that a section uses: from first to last
 * use, through whole loops where used in them and outside.
 */
const collectLifetimes = (stores: readonly Store[], events: readonly Event[]): ReadonlyMap<number, Life> => {
  const lives = new Map<number, Life>()
  const loops: { readonly store: number; readonly from: number; readonly to: number }[] = []
  let time = 0
  const walk = (list: readonly Event[]): Set<number> => {
    const used = new Set<number>()
    for (const event of list)
      if (event.kind === 'loop') {
        const from = time
        for (const store of walk(event.body)) {
          used.add(store)
          loops.push({ store, from, to: time })
        }
      } else if (event.kind === 'access') {
        for (const { store } of event.accesses) {
          if (stores[store]!.space === 'stepIo') continue
          used.add(store)
          const life = lives.get(store)
          if (life === undefined) lives.set(store, { from: time, to: time + 1 })
          else life.to = time + 1
        }
        time++
      }
    return used
  }
  walk(events)
  // Inner loops come first, so that what they prolong is then seen by the loops around them.
  for (const { store, from, to } of loops) {
    const life = lives.get(store)!
    if (life.from >= from && life.to <= to) continue
    life.from = Math.min(life.from, from)
    life.to = Math.max(life.to, to)
  }
  stores.forEach(({ role }, store) => {
    if (role === 'persistent') lives.set(store, { from: 0, to: time + 1 })
  })
  return lives
}

/** Proves that no two buffers of a space share a byte while both live. */
const proveDisjoint = (stores: readonly Store[], section: SectionEvents, space: 'arena' | 'host'): void => {
  const lives = [...collectLifetimes(stores, section.events)].filter(([store]) => stores[store]!.space === space)
  const order = [...lives].sort(([, a], [, b]) => a.from - b.from)
  const ends = [...lives].sort(([, a], [, b]) => a.to - b.to)
  /** Live now, by offset. */
  const live: number[] = []
  const placeOf = (store: number): number => {
    let [low, high] = [0, live.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (stores[live[middle]!]!.offset < stores[store]!.offset) low = middle + 1
      else high = middle
    }
    return low
  }
  let ended = 0
  for (const [store, life] of order) {
    for (; ended < ends.length && ends[ended]![1].to <= life.from; ended++) live.splice(live.indexOf(ends[ended]![0]), 1)
    const place = placeOf(store)
    const [before, after] = [live[place - 1], live[place]]
    for (const [low, high] of [
      [before, store],
      [store, after]
    ])
      if (low !== undefined && high !== undefined && stores[low]!.offset + stores[low]!.bytes > stores[high]!.offset)
        fail(sharedBytes(section.name, stores[low]!, stores[high]!))
    live.splice(place, 0, store)
  }
}

const sharedBytes = (section: string, low: Store, high: Store): VerifierFault => {
  const range = [high.offset, Math.min(low.offset + low.bytes, high.offset + high.bytes)] as const
  return {
    kind: 'overlap',
    message: `${section}: "${low.name}" and "${high.name}" are live at once and share ${rangeText(range)} of ${low.space === 'arena' ? 'the arena' : 'the host pool'}.`,
    section,
    buffer: low.name,
    bytes: range
  }
}

/**
 * Proves that what an instruction writes is none of its other operands, unless it works element by
 * element in the same place.
 */
const proveApart = ({ stores, coordinates }: ProgramEvents, { events }: SectionEvents): void => {
  const overAll = (access: Access, loops: readonly OpenLoop[]): readonly Box[] =>
    loops.reduce<readonly Box[]>(
      (boxes, { axis, count }) => repeatBoxes(coordinates[access.store]!, boxes, access.strides[axis]!, count).boxes,
      accessBoxes(coordinates[access.store]!, access).boxes
    )
  const check = (place: InstructionPlace, written: Access, other: Access, loops: readonly OpenLoop[]): void => {
    const moved = written.strides.some((stride, axis) => stride !== other.strides[axis]) ? loops : []
    const [a, b] = [overAll(written, moved), overAll(other, moved)]
    if (!a.some((one) => b.some((two) => overlap(one, two)))) return
    const { name } = stores[written.store]!
    fail(operandFault('overlap', place, written.operand, name, written.range, `overwrites ${other.operand} in "${name}" while it is read`))
  }
  const walk = (list: readonly Event[], loops: readonly OpenLoop[]): void => {
    for (const event of list)
      if (event.kind === 'loop') walk(event.body, [...loops, event.loop])
      else if (event.kind === 'access')
        event.accesses.forEach((written, position) => {
          if (written.use === 'read') return
          event.accesses.forEach((other, otherPosition) => {
            if (position === otherPosition || written.store !== other.store) return
            const elementwise = event.kernel !== undefined && worksInPlace(event.kernel, other.operand)
            if (!(elementwise && sameBytes(written, other))) check(event.place, written, other, loops)
          })
        })
  }
  walk(events, [])
}

/** Scratch is left in any state, so a buffer that serves as scratch serves as nothing else. */
const proveScratchApart = ({ stores }: ProgramEvents, { events }: SectionEvents): void => {
  const scratch = new Set<number>()
  const values = new Set<number>()
  const walk = (list: readonly Event[]): void => {
    for (const event of list)
      if (event.kind === 'loop') walk(event.body)
      else if (event.kind === 'access')
        for (const { store, use } of event.accesses) {
          ;(use === 'scratch' ? scratch : values).add(store)
          const both = scratch.has(store) && values.has(store)
          if (both || (use === 'scratch' && stores[store]!.role === 'persistent'))
            fail(instructionFault('overlap', event.place, `"${stores[store]!.name}" is scratch and holds a value`))
        }
  }
  walk(events)
}

/** Proves that nothing that a section still needs is overwritten. */
export const proveNoOverlaps = (program: ProgramEvents, section: SectionEvents): void => {
  proveDisjoint(program.stores, section, 'arena')
  proveDisjoint(program.stores, section, 'host')
  proveScratchApart(program, section)
  proveApart(program, section)
}
