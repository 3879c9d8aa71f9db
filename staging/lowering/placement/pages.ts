import { lengthOf, listTouchedBuffers, type BufferLifetime } from '../../placement/lifetimes'
import { type Lifetime, type Placement, alignUp, alignment } from '../../placement/placement'
import { virtual } from '../../placement/virtual'
import type { Pages, Engine, Instruction } from '../../program/program'
import type { Pool, UnplacedInstruction } from '../ir/builder'

/**
 * Instructions at the top of a section's code, with the times (as of lifetimes) at which each
 * begins; then the section's end.
 */
interface Timed {
  readonly code: readonly UnplacedInstruction[]
  readonly starts: readonly number[]
}

const listTimes = (sections: readonly (readonly UnplacedInstruction[])[]): readonly Timed[] => {
  const length = (one: UnplacedInstruction): number =>
    one.kind === 'loop' ? one.body.reduce((sum, inner) => sum + length(inner), 0) : lengthOf(one)
  let time = 0
  return sections.map((code) => {
    const starts = code.map((one) => {
      time += length(one)
      return time - length(one)
    })
    return { code, starts: [...starts, time] }
  })
}

/**
 * Buffers that share a range of addresses, which is mapped from the first use of any to the last.
 */
interface Range extends Lifetime {
  readonly kind: 'persistent' | 'loop' | 'buffer'
  /** Members by their index among the lifetimes, with their offsets in the range, in bytes. */
  readonly members: readonly { readonly index: number; readonly offset: number }[]
}

/**
 * Residents follow each other; what one loop alone touches is placed by `place`, since nothing is
 * mapped inside of loops; else a buffer has a range of its own.
 */
const findRanges = (
  timed: readonly Timed[],
  lifetimes: readonly BufferLifetime[],
  place: (lifetimes: readonly Lifetime[]) => Placement
): readonly Range[] => {
  const loops = timed.flatMap(({ code, starts }) =>
    code.flatMap((one, position) => (one.kind === 'loop' ? [{ from: starts[position]!, to: starts[position + 1]! }] : []))
  )
  const persistent: number[] = []
  const inside = new Map<(typeof loops)[number], number[]>()
  const single: Range[] = []
  lifetimes.forEach(({ buffer, bytes, from, to }, index) => {
    if (buffer.role === 'persistent') return void persistent.push(index)
    const loop = loops.find((one) => one.from <= from && to <= one.to)
    if (loop === undefined) return void single.push({ kind: 'buffer', bytes, from, to, members: [{ index, offset: 0 }] })
    inside.set(loop, [...(inside.get(loop) ?? []), index])
  })
  let residentBytes = 0
  const members = persistent.map((index) => {
    const offset = residentBytes
    residentBytes = alignUp(offset + lifetimes[index]!.bytes)
    return { index, offset }
  })
  const end = timed.at(-1)!.starts.at(-1)!
  return [
    { kind: 'persistent', bytes: residentBytes, from: 0, to: end, members },
    ...[...inside].map(([{ from, to }, indices]): Range => {
      const { offsets, peakBytes } = place(indices.map((index) => lifetimes[index]!))
      return { kind: 'loop', bytes: peakBytes, from, to, members: indices.map((index, at) => ({ index, offset: offsets[at]! })) }
    }),
    ...single
  ]
}

/** Engines that touch a range: the first and the last to do so, and all. */
interface Touching {
  readonly first: Engine
  last: Engine
  readonly all: Set<Engine>
}

const groupTouching = (sections: readonly (readonly UnplacedInstruction[])[], rangeOf: ReadonlyMap<number, number>) => {
  const touching = new Map<number, Touching>()
  const walk = (code: readonly UnplacedInstruction[]): void =>
    code.forEach((one) => {
      if (one.kind === 'loop') return walk(one.body)
      const engine = one.engine ?? 'compute'
      for (const { id } of listTouchedBuffers(one, 'device')) {
        const range = rangeOf.get(id)!
        const known = touching.get(range)
        if (known === undefined) touching.set(range, { first: engine, last: engine, all: new Set([engine]) })
        else {
          known.last = engine
          known.all.add(engine)
        }
      }
    })
  sections.forEach(walk)
  return touching
}

/** The mappings that stand before an instruction of a section, or at its end. */
interface Before {
  readonly unmapped: Instruction[]
  readonly mapped: Instruction[]
  /** Engines that must be done before anything is unmapped, and that go on once all is mapped. */
  readonly after: Set<Engine>
  readonly before: Set<Engine>
}

const makeInstructions = ({ unmapped, mapped, after, before }: Before, freshEvent: () => number): readonly Instruction[] => {
  const fence = (from: Engine, to: Engine): readonly Instruction[] => {
    const event = freshEvent()
    return [
      { kind: 'record', engine: from, event },
      { kind: 'wait', engine: to, event }
    ]
  }
  return [
    ...[...after].flatMap((engine) => fence(engine, 'compute')),
    ...unmapped,
    ...mapped,
    ...[...before].flatMap((engine) => fence('compute', engine))
  ]
}

/**
 * Instructions that stand before those at the top of a section's code, by their positions; its
 * length stands for its end.
 */
type Insertions = ReadonlyMap<number, readonly Instruction[]>

/** Addresses of lifetimes, the memory behind them in bytes, and what maps it. */
export interface PlacedInPages {
  /** The address of each lifetime. */
  readonly offsets: readonly number[]
  readonly peakBytes: number
  readonly pages: Pages
  /** The insertions of each section. */
  readonly before: readonly Insertions[]
}

/**
 * Virtual addressing (Hayakawa 2020, section 4) of a Program's buffers: pages are mapped to a
 * buffer's addresses before its first use and serve others after its last. All maps are the compute
 * engine's: an engine that uses a range before compute does waits for its map, and compute for one
 * that uses it last.
 */
export const placeInPages = (
  sections: readonly (readonly UnplacedInstruction[])[],
  lifetimes: readonly BufferLifetime[],
  pageBytes: number,
  place: (lifetimes: readonly Lifetime[]) => Placement,
  { freshEvent }: Pick<Pool, 'freshEvent'>
): PlacedInPages => {
  const timed = listTimes(sections)
  const ranges = findRanges(timed, lifetimes, place)
  const placement = virtual(ranges, { alignment, pageBytes })
  const addresses = placement.offsets
  const lengthOf = (range: number): number => placement.pages![range]!.reduce((sum, { count }) => sum + count, 0) * pageBytes
  const offsets = new Array<number>(lifetimes.length).fill(0)
  const rangeOf = new Map<number, number>()
  ranges.forEach(({ members }, range) =>
    members.forEach(({ index, offset }) => {
      offsets[index] = addresses[range]! + offset
      rangeOf.set(lifetimes[index]!.buffer.id, range)
    })
  )
  const touching = groupTouching(sections, rangeOf)
  const places = timed.map(() => new Map<number, Before>())
  const at = (section: number, time: number): Before => {
    const position = timed[section]!.starts.findIndex((start) => start >= time)
    const known = places[section]!.get(position) ?? { unmapped: [], mapped: [], after: new Set(), before: new Set() }
    places[section]!.set(position, known)
    return known
  }
  ranges.forEach(({ kind, from, to }, range) => {
    if (kind === 'persistent') return
    const section = timed.findIndex(({ starts }) => starts[0]! <= from && from < starts.at(-1)!)
    const { first, last, all } = touching.get(range)!
    const [born, dead] = [at(section, from), at(section, to)]
    let address = addresses[range]!
    dead.unmapped.push({ kind: 'unmap', address, bytes: lengthOf(range) })
    for (const { first: page, count } of placement.pages![range]!) {
      born.mapped.push({ kind: 'map', address, memory: page * pageBytes, bytes: count * pageBytes })
      address += count * pageBytes
    }
    const others = (ends: Engine): readonly Engine[] => (kind === 'loop' ? [...all] : [ends]).filter((engine) => engine !== 'compute')
    others(first).forEach((engine) => born.before.add(engine))
    others(last).forEach((engine) => dead.after.add(engine))
  })
  return {
    offsets,
    peakBytes: placement.peakBytes,
    pages: { pageBytes, addressBytes: ranges.reduce((sum, _, range) => sum + lengthOf(range), 0), residentBytes: lengthOf(0) },
    before: places.map((section) => new Map([...section].map(([position, before]) => [position, makeInstructions(before, freshEvent)])))
  }
}
