import { intersect } from './interval'
import type { ImageRows, SharedTensor } from './shared-tensor'

/** Rows of images of a tensor that one rank owns and another one holds. */
export interface Crossing extends ImageRows {
  readonly owner: number
  readonly holder: number
}

/** Rows go to who holds them, or what has been found of their gradients to who owns them. */
export type Receiver = 'holder' | 'owner'

/** Whether any rank holds rows of another: then all of them meet. */
export const isCrossed = ({ parts }: SharedTensor): boolean =>
  parts.some(({ owned, held }) =>
    (['images', 'rows'] as const).some((one) => held[one].from < owned[one].from || owned[one].to < held[one].to)
  )

/** The crossing rows that a rank owns, or holds, by the other rank. */
const crossingsOf = ({ parts }: SharedTensor, rank: number): readonly Crossing[] =>
  parts.flatMap((_, other) => {
    const between = (owner: number, holder: number): readonly Crossing[] => {
      const [{ owned }, { held }] = [parts[owner]!, parts[holder]!]
      const [images, rows] = [intersect(owned.images, held.images), intersect(owned.rows, held.rows)]
      return images === undefined || rows === undefined ? [] : [{ owner, holder, images, rows }]
    }
    return other === rank ? [] : [...between(rank, other), ...between(other, rank)]
  })

/** The crossing rows that a rank sends, by the rank that gets them. */
export const sentRows = (shared: SharedTensor, rank: number, to: Receiver): readonly Crossing[] =>
  crossingsOf(shared, rank).filter((one) => one[to] !== rank)

/** The crossing rows that come to a rank, by the rank that sends them. */
export const receivedRows = (shared: SharedTensor, rank: number, to: Receiver): readonly Crossing[] =>
  crossingsOf(shared, rank).filter((one) => one[to] === rank)
