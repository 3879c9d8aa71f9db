import { stringify } from 'csv-stringify/sync'
import type { Outcome } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'

/** A row of a table of predictions: an image, its class, and a number for each class. */
export interface ScoredImage {
  readonly path: string
  /** The name of the class, or its index. */
  readonly class: string
  readonly shares: readonly number[]
}

/** The scores of classes as probabilities of sum 1: softmax. */
export const probabilitiesOf = (scores: readonly number[]): readonly number[] => {
  const highest = scores.reduce((most, score) => Math.max(most, score), -Infinity)
  const powers = scores.map((score) => Math.exp(score - highest))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}

/** Writes a CSV of `path,class` and one column a class, whole or not at all. */
export const writeScoresCsv = (path: string, classes: readonly string[], rows: readonly ScoredImage[]): Outcome<void> =>
  writeFileAtomic(path, () => [
    Buffer.from(
      stringify([
        ['path', 'class', ...classes.map((name) => `probability of ${name}`)],
        ...rows.map((row) => [row.path, row.class, ...row.shares.map(String)])
      ])
    )
  ])
