import type { Access, Event, OpenLoop, ProgramEvents, SectionEvents } from './events'
import { accessBoxes } from './access-boxes'
import { addBox, bytesOfBox, repeatBoxes, subtract, type Box } from './boxes'
import { fail, operandFault, rangeText, type InstructionPlace } from './fault'

/** The bytes of each store that are initialised when a section begins. */
export type Initialised = ReadonlyMap<number, readonly Box[]>

/** Boxes at the first tile that advance from tile to tile by `strides`. */
interface Moving {
  readonly strides: Access['strides']
  readonly boxes: Box[]
}

const stridesKey = (strides: readonly number[]): string => strides.join()

/**
 * The bytes that are certainly written, by how they move with the tile index of the loops that are
 * open: what one iteration wrote is known to it alone, what stands still to all. When a loop ends,
 * what moved with it is spread over its iterations.
 */
export class WrittenBytes {
  private readonly stores = new Map<number, Map<string, Moving>>()

  constructor(private readonly coordinates: ProgramEvents['coordinates']) {}

  add(store: number, strides: Access['strides'], boxes: readonly Box[]): void {
    let known = this.stores.get(store)
    if (known === undefined) this.stores.set(store, (known = new Map()))
    const key = stridesKey(strides)
    let moving = known.get(key)
    if (moving === undefined) known.set(key, (moving = { strides, boxes: [] }))
    for (const box of boxes) addBox(moving.boxes, box)
  }

  write(access: Access): void {
    const { boxes, exact } = accessBoxes(this.coordinates[access.store]!, access)
    if (exact) this.add(access.store, access.strides, boxes)
  }

  /**
   * Returns the bytes that an access touches and that are not known to be written in each
   * iteration: first by the iteration itself, then by the loops around it, from the innermost out,
   * whose iterations must all find their bytes.
   */
  missing(access: Access, loops: readonly OpenLoop[]): readonly Box[] {
    const coordinates = this.coordinates[access.store]!
    const known = this.stores.get(access.store)
    const strides: [number, number, number] = [...access.strides]
    let left = accessBoxes(coordinates, access).boxes
    for (let depth = loops.length; ; depth--) {
      left = subtract(left, known?.get(stridesKey(strides))?.boxes ?? [])
      if (left.length === 0 || depth === 0) return left
      const { axis, count } = loops[depth - 1]!
      left = repeatBoxes(coordinates, left, strides[axis]!, count).boxes
      strides[axis] = 0
    }
  }

  /** Ends a loop: what moved with its axis now stands for all of its iterations. */
  close({ axis, count }: OpenLoop, touched: Iterable<number>): void {
    for (const store of touched) {
      const known = this.stores.get(store)
      for (const [key, { strides, boxes }] of [...(known ?? [])]) {
        const stride = strides[axis]!
        if (stride === 0) continue
        known!.delete(key)
        const spread = boxes.map((box) => repeatBoxes(this.coordinates[store]!, [box], stride, count))
        const still: [number, number, number] = [...strides]
        still[axis] = 0
        this.add(
          store,
          still,
          spread.flatMap((cover) => (cover.exact ? cover.boxes : []))
        )
      }
    }
  }

  forget(store: number): void {
    this.stores.delete(store)
  }

  /** Returns the bytes that stand still: all that is known outside of loops. */
  of(store: number): readonly Box[] {
    return this.stores.get(store)?.get(stridesKey([0, 0, 0]))?.boxes ?? []
  }
}

/** The bytes that some boxes span, of a store. */
export const bytesSpanned = (coordinates: ProgramEvents['coordinates'][number], boxes: readonly Box[]): readonly [number, number] => {
  const ranges = boxes.map((box) => bytesOfBox(coordinates, box))
  return [Math.min(...ranges.map(([from]) => from)), Math.max(...ranges.map(([, to]) => to))]
}

/**
 * Proves that every read of a section is of bytes that were written before: earlier in the section
 * (or by what is `initially` so), in a loop before it or earlier in the same iteration. Returns
 * what is written at the end. The I/O buffer is the caller's and may be read as it comes, but
 * what is added to must have been written.
 */
export const proveInitialised = (
  { stores, coordinates }: ProgramEvents,
  { events }: SectionEvents,
  initially: Initialised
): WrittenBytes => {
  const written = new WrittenBytes(coordinates)
  for (const [store, boxes] of initially) written.add(store, [0, 0, 0], boxes)
  const check = (place: InstructionPlace, access: Access, loops: readonly OpenLoop[]): void => {
    const { name, space } = stores[access.store]!
    if (space === 'stepIo' && access.use === 'read') return
    const left = written.missing(access, loops)
    if (left.length === 0) return
    const span = bytesSpanned(coordinates[access.store]!, left)
    const verb = access.use === 'read' ? 'reads' : 'adds to'
    const when = loops.length === 0 ? 'before' : 'before the loop or earlier in the same iteration'
    fail(
      operandFault(
        'initialisation',
        place,
        access.operand,
        name,
        span,
        `${verb} ${rangeText(span)} of "${name}", which nothing writes ${when}`
      )
    )
  }
  const walk = (list: readonly Event[], loops: readonly OpenLoop[]): Set<number> => {
    const touched = new Set<number>()
    for (const event of list)
      if (event.kind === 'loop') {
        const inside = walk(event.body, [...loops, event.loop])
        written.close(event.loop, inside)
        inside.forEach((store) => touched.add(store))
      } else if (event.kind === 'unmap') {
        const { address, bytes: length } = event.mapping
        stores.forEach(({ space, offset, bytes }, store) => {
          if (space === 'arena' && offset < address + length && address < offset + bytes) written.forget(store)
        })
      } else if (event.kind === 'access') {
        for (const access of event.accesses) if (access.use === 'read' || access.use === 'accumulate') check(event.place, access, loops)
        for (const access of event.accesses)
          if (access.use === 'write') {
            written.write(access)
            touched.add(access.store)
          }
      }
    return touched
  }
  walk(events, [])
  return written
}
