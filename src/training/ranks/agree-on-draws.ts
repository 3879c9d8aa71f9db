import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import type { Failure, Outcome } from '../../failure'
import { type Ranks, allGatherJson } from '../../ranks/ranks'
import type { Attempts, Redraws, SkippedDraw } from '../batches/batches'

/** A crop that could not be read: of which image, and why. */
export interface UnreadCrop extends SkippedDraw {
  readonly image: string
  readonly message: string
}

interface Agreement {
  readonly ranks: Ranks
  readonly redraws: Redraws
  /** Whether this rank reads the micro-step at an index of the update. */
  readonly isOwn: (index: number) => boolean
  /** Hands out what this rank could not read since it was asked last. */
  readonly takeUnread: () => readonly UnreadCrop[]
  /** Told on all ranks alike, once of each crop that any could not read. */
  readonly onUnread: (crop: UnreadCrop) => void
}

/** What a rank found of a micro-step, by its index in the update. */
type Found = readonly [index: number, attempts: Attempts]

const foundCodec = t.type(
  {
    attempts: t.readonlyArray(t.readonly(t.tuple([t.number, t.readonlyArray(t.number)]))),
    unread: t.readonlyArray(t.type({ microStep: t.number, row: t.number, attempt: t.number, image: t.string, message: t.string }))
  },
  'list of crops'
)

const most = (one: Attempts, other: Attempts): Attempts => other.map((count, row) => Math.max(count, one[row] ?? 0))

const areSame = (one: Attempts, other: Attempts): boolean => one.every((count, row) => count === other[row])

/**
 * Agrees with the other ranks, before an update, on the crops of all its micro-steps: each rank
 * reads its own, and where several read one, all draw as often as the one that had to most. All go
 * on alike, or all fail. Answers whether the first of this rank's own, which may be loaded already,
 * has other crops now.
 */
export const agreeOnDraws =
  ({ ranks, redraws, isOwn, takeUnread, onUnread }: Agreement) =>
  (microSteps: readonly number[]): Outcome<boolean> => {
    const own = microSteps.flatMap((_, index) => (isOwn(index) ? [index] : []))
    const findOwn = async (least: readonly Attempts[]): Promise<E.Either<Failure, readonly Found[]>> => {
      const found: Found[] = []
      for (const index of own) {
        const attempts = await redraws.find(microSteps[index]!, least[index]!)()
        if (E.isLeft(attempts)) return attempts
        found.push([index, attempts.right])
      }
      return E.right(found)
    }
    return async () => {
      const told = new Set<string>()
      let agreed: readonly Attempts[] = microSteps.map(() => [])
      let loaded: Attempts | undefined
      for (;;) {
        const found = await findOwn(agreed)
        if (E.isRight(found)) loaded ??= found.right[0]?.[1]
        const gathered = await allGatherJson(
          ranks,
          foundCodec,
          E.map((attempts: readonly Found[]) => ({ attempts, unread: takeUnread() }))(found)
        )
        if (E.isLeft(gathered)) return gathered
        for (const crop of gathered.right.flatMap(({ unread }) => unread)) {
          const draw = `${crop.microStep}.${crop.row}.${crop.attempt}`
          if (!told.has(draw)) onUnread(crop)
          told.add(draw)
        }
        const all = gathered.right.flatMap(({ attempts }) => attempts)
        agreed = microSteps.map((_, index) => all.reduce<Attempts>((so, [of, attempts]) => (of === index ? most(so, attempts) : so), []))
        if (all.every(([index, attempts]) => areSame(attempts, agreed[index]!))) break
      }
      for (const [index, attempts] of agreed.entries()) if (!isOwn(index)) redraws.adopt(microSteps[index]!, attempts)
      const [first] = own
      return E.right(first !== undefined && loaded !== undefined && !areSame(loaded, agreed[first]!))
    }
  }
