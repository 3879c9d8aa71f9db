import { engines } from '../program/program'
import { accessBoxes } from './access-boxes'
import { overlap, repeatBoxes, type Box } from './boxes'
import type { Access, OpenLoop, ProgramEvents, Store } from './events'
import { fail, operandFault, placeText, rangeText, type InstructionPlace } from './fault'
import type { VectorClocks } from './vector-clocks'

/** An access of an engine at the tile indices at which it ran. */
export interface EngineAccess {
  /** The time on its engine's clock. */
  readonly time: number
  readonly place: InstructionPlace
  readonly access: Access
  /** Bytes from the access of the first iteration to this one. */
  readonly shift: number
  /** Loops that ran as one, since nothing in them waits. */
  readonly inner: readonly OpenLoop[]
  /** In bytes of its space. */
  readonly range: readonly [number, number]
}

/** The store of what is mapped and unmapped, which lies in no one buffer. */
export const wholeArena: Store = { space: 'arena', name: 'the arena', offset: 0, bytes: Infinity }

/** Tells whether two accesses of different engines touch the same bytes, and one of them writes. */
const conflicts = (stores: readonly Store[], coordinates: ProgramEvents['coordinates']) => {
  const boxesOf = ({ access, shift, inner }: EngineAccess): readonly Box[] => {
    const system = coordinates[access.store]!
    return inner.reduce<readonly Box[]>(
      (boxes, { axis, count }) => repeatBoxes(system, boxes, access.strides[axis]!, count).boxes,
      accessBoxes(system, { ...access, base: access.base + shift }).boxes
    )
  }
  return (a: EngineAccess, b: EngineAccess): boolean => {
    if (a.access.use === 'read' && b.access.use === 'read') return false
    if (stores[a.access.store]!.space !== stores[b.access.store]!.space) return false
    if (a.range[0] >= b.range[1] || b.range[0] >= a.range[1]) return false
    if (a.access.store !== b.access.store) return true
    const theirs = boxesOf(b)
    return boxesOf(a).some((box) => theirs.some((other) => overlap(box, other)))
  }
}

/** What each engine did that some other has not waited for yet. */
export interface EngineAccesses {
  /** Refuses accesses that conflict with what an engine has not waited for, then adds them. */
  readonly add: (engine: number, accesses: readonly EngineAccess[]) => void
  /** Forgets what all engines have waited for. */
  readonly forget: () => void
}

/** The accesses of engines that have not begun. */
export const createEngineAccesses = (
  stores: readonly Store[],
  coordinates: ProgramEvents['coordinates'],
  clocks: VectorClocks
): EngineAccesses => {
  const conflict = conflicts(stores, coordinates)
  /** By engine, in order. */
  const unawaited: EngineAccess[][] = engines.map(() => [])

  const verb = ({ access, place }: EngineAccess): string =>
    stores[access.store] === wholeArena
      ? `${place.kernel}s`
      : access.use === 'read'
        ? 'reads'
        : access.use === 'accumulate'
          ? 'adds to'
          : 'writes'

  const refuse = (done: EngineAccess, other: number, earlier: EngineAccess): never => {
    const { name: buffer, offset } = stores[done.access.store]!
    const range = [done.range[0] - offset, done.range[1] - offset] as const
    const sentence =
      `${verb(done)} ${rangeText(range)} of "${buffer}", but nothing has waited for the ${engines[other]!} engine, ` +
      `which ${verb(earlier)} the same bytes in ${placeText(earlier.place)}`
    return fail(operandFault('race', done.place, done.access.operand, buffer, range, sentence))
  }

  const check = (engine: number, done: EngineAccess): void =>
    unawaited.forEach((list, other) => {
      if (other === engine) return
      const seen = clocks.seen(engine, other)
      for (let index = list.length - 1; index >= 0 && list[index]!.time > seen; index--)
        if (conflict(done, list[index]!)) refuse(done, other, list[index]!)
    })

  return {
    add: (engine, accesses) => {
      accesses.forEach((one) => check(engine, one))
      unawaited[engine]!.push(...accesses)
    },
    forget: () =>
      unawaited.forEach((list, engine) => {
        const known = clocks.seenByAll(engine)
        let end = 0
        while (end < list.length && list[end]!.time <= known) end++
        if (end > 0) list.splice(0, end)
      })
  }
}
