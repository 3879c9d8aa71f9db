import { intersect, type Interval } from './interval'
import type { SharedTensor } from './shared-tensor'

/** Rows of a tensor that one rank owns and another one holds. */
export interface Crossing {
  readonly owner: number
  readonly holder: number
  readonly rows: Interval
}

/** Rows go to who holds them, or what has been found of their gradients to who owns them. */
export type Receiver = 'holder' | 'owner'

/** Whether any rank holds rows of another: then all of them meet. */
export const isCrossed = ({ rows }: SharedTensor): boolean => rows.some(({ owned, held }) => held.from < owned.from || owned.to < held.to)

/** The crossing rows that a rank owns, or holds, by the other rank. */
const crossingsOf = ({ rows }: SharedTensor, rank: number): readonly Crossing[] =>
  rows.flatMap((_, other) => {
    const between = (owner: number, holder: number): readonly Crossing[] => {
      const common = intersect(rows[owner]!.owned, rows[holder]!.held)
      return common === undefined ? [] : [{ owner, holder, rows: common }]
    }
    return other === rank ? [] : [...between(rank, other), ...between(other, rank)]
  })

/** The crossing rows that a rank sends, by the rank that gets them. */
export const sentRows = (shared: SharedTensor, rank: number, to: Receiver): readonly Crossing[] =>
  crossingsOf(shared, rank).filter((one) => one[to] !== rank)

/** The crossing rows that come to a rank, by the rank that sends them. */
export const receivedRows = (shared: SharedTensor, rank: number, to: Receiver): readonly Crossing[] =>
  crossingsOf(shared, rank).filter((one) => one[to] === rank)
