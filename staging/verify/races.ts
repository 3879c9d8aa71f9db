import { engines } from '../program/program'
import { copiedBytes } from './copied-bytes'
import { createEngineAccesses, wholeArena, type EngineAccess } from './engine-accesses'
import type { Access, Event, OpenLoop, ProgramEvents, SectionEvents, Store } from './events'
import { fail, instructionFault } from './fault'
import { createVectorClocks } from './vector-clocks'

const synchronises = (events: readonly Event[]): boolean =>
  events.some((event) =>
    event.kind === 'loop' ? synchronises(event.body) : 'engine' in event && (event.kind !== 'access' || event.engine !== 'compute')
  )

/** Instructions that are followed one by one in loops with copies. */
const followed = 2 ** 21

type EventOf<Kind extends Event['kind']> = Extract<Event, { readonly kind: Kind }>

/** Lists the accesses of an event at some tile indices that copies may meet. */
const accessesAt = (stores: readonly Store[], isCopied: ReturnType<typeof copiedBytes>) => {
  /** Whether any iteration of an access may meet a copy. */
  const meetsCopies = new Map<Access, boolean>()
  const isRelevant = (access: Access): boolean => {
    const known = meetsCopies.get(access)
    if (known !== undefined) return known
    const { space, offset } = stores[access.store]!
    const found = isCopied(space, [offset + access.range[0], offset + access.range[1]])
    meetsCopies.set(access, found)
    return found
  }
  return ({ place, accesses }: EventOf<'access'>, time: number, indices: readonly number[], inner: readonly OpenLoop[]) =>
    accesses.filter(isRelevant).flatMap((access): readonly EngineAccess[] => {
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
      return isCopied(space, range) ? [{ time, place, access, shift, inner, range }] : []
    })
}

/**
 * A remapping as a write of the compute engine: whoever is not done before, or begins without
 * waiting for it, is in its way.
 */
const remapping = ({ place, mapping: { address, bytes } }: EventOf<'map' | 'unmap'>, time: number, store: number): EngineAccess => {
  const range = [address, address + bytes] as const
  const access: Access = { store, operand: 'address', use: 'write', base: address, repeats: [], run: bytes, strides: [0, 0, 0], range }
  return { time, place, access, shift: 0, inner: [], range }
}

/**
 * Proves that engines which run beside each other never touch the same bytes at once, where one of
 * them writes: whatever one does must have been waited for by the other. Loops with copies are
 * followed iteration by iteration, others taken as one.
 */
export const proveNoRaces = (program: ProgramEvents, { name, events }: SectionEvents): void => {
  if (!synchronises(events)) return
  const stores = [...program.stores, wholeArena]
  const isCopied = copiedBytes(program, events)
  const clocks = createVectorClocks()
  const unawaited = createEngineAccesses(stores, program.coordinates, clocks)
  const accessesOf = accessesAt(stores, isCopied)
  const indices = [0, 0, 0]
  let steps = 0

  const runLoop = ({ loop, body }: EventOf<'loop'>, inner: readonly OpenLoop[]): void => {
    if (!synchronises(body)) return run(body, [...inner, loop])
    for (let index = 0; index < loop.count; index++) {
      indices[loop.axis] = index
      run(body, inner)
    }
    indices[loop.axis] = 0
  }

  const runEvent = (event: Event, inner: readonly OpenLoop[]): void => {
    switch (event.kind) {
      case 'access': {
        const engine = engines.indexOf(event.engine)
        return unawaited.add(engine, accessesOf(event, clocks.tick(engine), indices, inner))
      }
      case 'map':
      case 'unmap': {
        const done = remapping(event, clocks.tick(0), program.stores.length)
        return unawaited.add(0, isCopied('arena', done.range) ? [done] : [])
      }
      case 'record':
        return clocks.record(engines.indexOf(event.engine), event.event)
      case 'wait':
        if (!clocks.wait(engines.indexOf(event.engine), event.event))
          fail(instructionFault('race', event.place, `waits for event ${event.event}, which nothing has recorded`))
        return unawaited.forget()
      case 'loop':
        return runLoop(event, inner)
    }
  }

  const run = (list: readonly Event[], inner: readonly OpenLoop[]): void => {
    for (const event of list) {
      if (++steps > followed)
        fail({
          kind: 'race',
          message: `${name} runs more than ${followed} instructions in loops with copies, more than are followed.`,
          section: name
        })
      runEvent(event, inner)
    }
  }
  run(events, [])
}
