/** The mean of the measures that are known; null where none is. */
export const meanOfKnown = (measures: readonly (number | null)[]): number | null => {
  const known = measures.filter((measure) => measure !== null)
  return known.length === 0 ? null : known.reduce((sum, measure) => sum + measure, 0) / known.length
}
