import { memoizePerObject } from '../memoize'
import { intersect } from './interval'
import type { ImageRows, SharedTensor } from './shared-tensor'

/** Rows of images of a tensor that one rank owns and another one holds. */
export interface Crossing extends ImageRows {
  readonly owner: number
  readonly holder: number
}

/** Rows go to who holds them, or what has been found of their gradients to who owns them. */
export type Receiver = 'holder' | 'owner'

const findCrossed = ({ ranks, partOf }: SharedTensor): boolean => {
  for (let rank = 0; rank < ranks; rank += 1) {
    const { owned, held } = partOf(rank)
    const holdsMore = (['images', 'rows'] as const).some((one) => held[one].from < owned[one].from || owned[one].to < held[one].to)
    if (holdsMore) return true
  }
  return false
}

/** Whether any rank holds rows of another: then all of them meet. Remembered. */
export const isCrossed = memoizePerObject((_: SharedTensor) => '', findCrossed)

const findCrossings = ({ ranks, partOf }: SharedTensor, rank: number): readonly Crossing[] => {
  const own = partOf(rank)
  const crossings: Crossing[] = []
  const add = (owner: number, owned: ImageRows, holder: number, held: ImageRows): void => {
    const [images, rows] = [intersect(owned.images, held.images), intersect(owned.rows, held.rows)]
    if (images !== undefined && rows !== undefined) crossings.push({ owner, holder, images, rows })
  }
  for (let other = 0; other < ranks; other += 1) {
    if (other === rank) continue
    const its = partOf(other)
    add(rank, own.owned, other, its.held)
    add(other, its.owned, rank, own.held)
  }
  return crossings
}

/** The crossing rows that a rank owns, or holds, by the other rank; remembered. */
const crossingsOf = memoizePerObject((_: SharedTensor, rank: number) => rank, findCrossings)

/** The crossing rows that a rank sends, by the rank that gets them. */
export const sentRows = (shared: SharedTensor, rank: number, to: Receiver): readonly Crossing[] =>
  crossingsOf(shared, rank).filter((one) => one[to] !== rank)

/** The crossing rows that come to a rank, by the rank that sends them. */
export const receivedRows = (shared: SharedTensor, rank: number, to: Receiver): readonly Crossing[] =>
  crossingsOf(shared, rank).filter((one) => one[to] === rank)
