/** Turns the scores of classes into probabilities of sum 1, where they stand: softmax. */
export const applySoftmax = (scores: Float64Array): void => {
  let [highest, sum] = [-Infinity, 0]
  for (const score of scores) highest = Math.max(highest, score)
  // Powers of what is left are at most 1, however high scores are.
  for (let one = 0; one < scores.length; one += 1) sum += scores[one] = Math.exp(scores[one]! - highest)
  for (let one = 0; one < scores.length; one += 1) scores[one]! /= sum
}

/** The scores of classes as probabilities of sum 1: softmax. */
export const softmax = (scores: readonly number[]): readonly number[] => {
  const probabilities = Float64Array.from(scores)
  applySoftmax(probabilities)
  return [...probabilities]
}

/** A score as the probability of its class by itself. */
export const sigmoid = (score: number): number => 1 / (1 + Math.exp(-score))
