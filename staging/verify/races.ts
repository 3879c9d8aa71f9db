import { engines, type Engine } from '../program/program'
import type { Access, Event, OpenLoop, ProgramEvents, SectionEvents, Store } from './events'
import { accessBoxes } from './access-boxes'
import { meet, repeatBoxes, type Box } from './boxes'
import { fail, instructionFault, operandFault, placeText, rangeText, type Place } from './fault'

/**
 * A vector clock: how far each engine has come, as one of them knows it (Fidge, Mattern); positions
 * as in `engines`.
 */
type Clock = number[]

/** An access at the tile indices at which it ran; `range` in bytes of its space. */
interface Done {
  readonly time: number
  readonly place: Place
  readonly access: Access
  readonly shift: number
  /** Loops that ran as one, since nothing in them waits. */
  readonly inner: readonly OpenLoop[]
  readonly range: readonly [number, number]
}

const synchronises = (events: readonly Event[]): boolean =>
  events.some((event) =>
    event.kind === 'loop' ? synchronises(event.body) : 'engine' in event && (event.kind !== 'access' || event.engine !== 'compute')
  )

/** Instructions that are followed one by one in loops with copies. */
const followed = 2 ** 21

/**
 * Ranges of the arena and of the host pool that copies reach: what else is touched cannot be in
 * flight.
 */
const copiedRanges = ({ stores }: ProgramEvents, events: readonly Event[]): readonly (readonly [string, number, number])[] =>
  events.flatMap((event) =>
    event.kind === 'loop'
      ? copiedRanges({ stores } as ProgramEvents, event.body)
      : event.kind === 'access' && event.engine !== 'compute'
        ? event.accesses.map(({ store, range: [from, to] }) => {
            const { space, offset } = stores[store]!
            return [space, offset + from, offset + to] as const
          })
        : []
  )

const merged = (ranges: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] => {
  const union: [number, number][] = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = union[union.length - 1]
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to)
    else union.push([from, to])
  }
  return union
}

/**
 * Proves that engines which run beside each other never touch the same bytes at once, where one of
 * them writes: whatever one does must have been waited for by the other. Loops with copies are
 * followed iteration by iteration, others taken as one.
 */
export const proveNoRaces = (program: ProgramEvents, { name, events }: SectionEvents): void => {
  if (!synchronises(events)) return
  const { coordinates } = program
  // What is mapped and unmapped lies in no one buffer.
  const addresses = program.stores.length
  const stores: readonly Store[] = [...program.stores, { space: 'arena', name: 'the arena', offset: 0, bytes: Infinity }]
  const copied = copiedRanges(program, events)
  const spaces = ['arena', 'host', 'exchange'].map((wanted) =>
    merged(copied.flatMap(([space, from, to]) => (space === wanted ? [[from, to] as const] : [])))
  )
  const mayBeCopied = (space: string, [from, to]: readonly [number, number]): boolean =>
    spaces[['arena', 'host', 'exchange'].indexOf(space)]!.some((range) => range[0] < to && from < range[1])

  /** Tells whether any iteration of an access may meet a copy. */
  const meetsCopies = new Map<Access, boolean>()
  const isRelevant = (access: Access): boolean => {
    const known = meetsCopies.get(access)
    if (known !== undefined) return known
    const { space, offset } = stores[access.store]!
    const found = mayBeCopied(space, [offset + access.range[0], offset + access.range[1]])
    meetsCopies.set(access, found)
    return found
  }

  const clocks: Clock[] = engines.map(() => engines.map(() => 0))
  const recorded = new Map<number, Clock>()
  /** Work of each engine that some other has not waited for yet, in order. */
  const history: Done[][] = engines.map(() => [])
  const indices = [0, 0, 0]
  let steps = 0

  const boxesOf = ({ access, shift, inner }: Done): readonly Box[] => {
    const system = coordinates[access.store]!
    return inner.reduce<readonly Box[]>(
      (boxes, { axis, count }) => repeatBoxes(system, boxes, access.strides[axis]!, count).boxes,
      accessBoxes(system, { ...access, base: access.base + shift }).boxes
    )
  }
  const conflict = (a: Done, b: Done): boolean => {
    if (a.access.use === 'read' && b.access.use === 'read') return false
    if (stores[a.access.store]!.space !== stores[b.access.store]!.space) return false
    if (a.range[0] >= b.range[1] || b.range[0] >= a.range[1]) return false
    if (a.access.store !== b.access.store) return true
    const theirs = boxesOf(b)
    return boxesOf(a).some((box) => theirs.some((other) => meet(box, other)))
  }
  const describe = ({ access, place }: Done): string =>
    access.store === addresses ? `${place.kernel}s` : access.use === 'read' ? 'reads' : access.use === 'accumulate' ? 'adds to' : 'writes'

  const check = (engine: number, done: Done): void =>
    engines.forEach((other, position) => {
      if (position === engine) return
      const list = history[position]!
      const seen = clocks[engine]![position]!
      for (let index = list.length - 1; index >= 0 && list[index]!.time > seen; index--) {
        const earlier = list[index]!
        if (!conflict(done, earlier)) continue
        const { name: buffer, offset } = stores[done.access.store]!
        const range = [done.range[0] - offset, done.range[1] - offset] as const
        const sentence =
          `${describe(done)} ${rangeText(range)} of "${buffer}", but nothing has waited for the ${other} engine, ` +
          `which ${describe(earlier)} the same bytes in ${placeText(earlier.place)}`
        fail(operandFault('race', done.place, done.access.operand, buffer, range, sentence))
      }
    })
  const forget = (): void =>
    history.forEach((list, position) => {
      const known = Math.min(...clocks.flatMap((clock, engine) => (engine === position ? [] : [clock[position]!])))
      let end = 0
      while (end < list.length && list[end]!.time <= known) end++
      if (end > 0) list.splice(0, end)
    })

  const touch = (event: Extract<Event, { readonly kind: 'access' }>, inner: readonly OpenLoop[]): void => {
    const engine = engines.indexOf(event.engine)
    const time = ++clocks[engine]![engine]!
    const done = event.accesses.filter(isRelevant).flatMap((access): readonly Done[] => {
      const { space, offset } = stores[access.store]!
      const { base, repeats, run, strides } = access
      const shift = strides.reduce((sum, stride, axis) => sum + stride * indices[axis]!, 0)
      const moves = inner.map(({ axis, count }) => strides[axis]! * (count - 1))
      const first = offset + base + shift
      const reach = repeats.reduce((sum, { count, stride }) => sum + (count - 1) * stride, run)
      const range = [
        first + moves.reduce((sum, move) => sum + Math.min(0, move), 0),
        first + reach + moves.reduce((sum, move) => sum + Math.max(0, move), 0)
      ] as const
      return mayBeCopied(space, range) ? [{ time, place: event.place, access, shift, inner, range }] : []
    })
    done.forEach((one) => check(engine, one))
    history[engine]!.push(...done)
  }

  /**
   * Checks a remapping as a write of the compute engine: whoever is not done before, or begins
   * without waiting for it, is in its way.
   */
  const remap = ({ place, mapping: { address, bytes } }: Extract<Event, { readonly kind: 'map' | 'unmap' }>): void => {
    const time = ++clocks[0]![0]!
    const range = [address, address + bytes] as const
    if (!mayBeCopied('arena', range)) return
    const access: Access = {
      store: addresses,
      operand: 'address',
      use: 'write',
      base: address,
      repeats: [],
      run: bytes,
      strides: [0, 0, 0],
      range
    }
    const done: Done = { time, place, access, shift: 0, inner: [], range }
    check(0, done)
    history[0]!.push(done)
  }

  const positionOf = (engine: Engine): number => engines.indexOf(engine)
  const run = (list: readonly Event[], inner: readonly OpenLoop[]): void => {
    for (const event of list) {
      if (++steps > followed)
        fail({
          kind: 'race',
          message: `${name} runs more than ${followed} instructions in loops with copies, more than are followed.`,
          section: name
        })
      switch (event.kind) {
        case 'access':
          touch(event, inner)
          break
        case 'map':
        case 'unmap':
          remap(event)
          break
        case 'record':
          recorded.set(event.event, [...clocks[positionOf(event.engine)]!])
          break
        case 'wait': {
          const reached = recorded.get(event.event)
          if (reached === undefined)
            return fail(instructionFault('race', event.place, `waits for event ${event.event}, which nothing has recorded`))
          const clock = clocks[positionOf(event.engine)]!
          reached.forEach((time, engine) => (clock[engine] = Math.max(clock[engine]!, time)))
          forget()
          break
        }
        case 'loop': {
          const { axis, count } = event.loop
          if (!synchronises(event.body)) {
            run(event.body, [...inner, event.loop])
            break
          }
          for (let index = 0; index < count; index++) {
            indices[axis] = index
            run(event.body, inner)
          }
          indices[axis] = 0
        }
      }
    }
  }
  run(events, [])
}
