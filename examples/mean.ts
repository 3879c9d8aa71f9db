/** The mean of numbers, of which there is at least one. */
export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
