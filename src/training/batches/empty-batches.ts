/** Batches from which on it is told that most teach nothing; in the end it is told of fewer. */
const soonBatches = 8

const countsNowhere = (labels: ArrayLike<number>, ignored: number): boolean => {
  for (let place = 0; place < labels.length; place += 1) if (labels[place] !== ignored) return false
  return true
}

/** Counts the batches of masks in which no pixel counts, whose loss is 0. */
export interface EmptyBatches {
  readonly see: (labels: ArrayLike<number>) => void
  /** What there is to say after a step, once while training and once after its last. */
  readonly notice: (isLast: boolean) => string | undefined
}

/** `ignored`: the label that does not count; `annotated`: whether crops are drawn where some do. */
export const countEmptyBatches = (ignored: number, annotated: boolean): EmptyBatches => {
  let [empty, seen, isTold] = [0, 0, false]
  const remedy = annotated ? 'a larger --crop sees more of them' : '--annotated draws crops where some do'
  return {
    see: (labels) => {
      seen += 1
      if (countsNowhere(labels, ignored)) empty += 1
    },
    notice: (isLast) => {
      const isDue = isLast ? 10 * empty > seen : !isTold && seen >= soonBatches && 2 * empty > seen
      isTold ||= isDue
      return isDue ? `in ${empty} of ${seen} batches no pixel counts, so that they teach nothing and their loss is 0: ${remedy}` : undefined
    }
  }
}
