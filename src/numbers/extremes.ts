/**
 * Least and largest of lists of any length: as arguments, some hundred thousand are too many for a
 * call.
 */
export const least = (values: readonly number[]): number => values.reduce((one, other) => Math.min(one, other), Infinity)
/** The largest of numbers; -Infinity of none. */
export const largest = (values: readonly number[]): number => values.reduce((one, other) => Math.max(one, other), -Infinity)
