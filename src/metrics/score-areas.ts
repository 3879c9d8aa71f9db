/** Log-odds are counted in bins of this width, those that are farther from 0 in the last ones. */
const [binWidth, farthest] = [1 / 512, 16]
const bins = (2 * farthest) / binWidth

/**
 * Counts of pixels by the log-odds of a class, for each class apart those that are of it and those
 * that are not: [classes, 2, bins].
 */
export type ScoreCounts = Float64Array

/** Zeros: the counts of scores of so many classes. */
export const emptyScoreCounts = (classes: number): ScoreCounts => new Float64Array(classes * 2 * bins)

/** Counts a pixel whose log-odds of a class are `value`; they must be a number. */
export const countScore = (counts: ScoreCounts, ofClass: number, isOfClass: boolean, value: number): void => {
  const bin = Math.min(bins - 1, Math.max(0, Math.floor((value + farthest) / binWidth)))
  counts[(2 * ofClass + (isOfClass ? 1 : 0)) * bins + bin]! += 1
}

/**
 * The area under the ROC curve of each class, as the rank statistic of Mann and Whitney over bins;
 * those of one bin count half. Null where all pixels are of a class, or none.
 */
export const areasUnderCurves = (counts: ScoreCounts): readonly (number | null)[] =>
  Array.from({ length: counts.length / (2 * bins) }, (_, ofClass) => {
    const [others, own] = [0, 1].map((which) => counts.subarray((2 * ofClass + which) * bins, (2 * ofClass + which + 1) * bins))
    let [below, positives, ranked] = [0, 0, 0]
    for (let bin = 0; bin < bins; bin += 1) {
      ranked += own![bin]! * (below + others![bin]! / 2)
      below += others![bin]!
      positives += own![bin]!
    }
    return positives === 0 || below === 0 ? null : ranked / (positives * below)
  })
