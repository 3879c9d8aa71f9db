/**
 * The least of numbers; Infinity of none. They may be more than the arguments that a call takes.
 */
export const minimum = (values: readonly number[]): number => values.reduce((one, other) => Math.min(one, other), Infinity)
/**
 * The largest of numbers; -Infinity of none. They may be more than the arguments that a call takes.
 */
export const maximum = (values: readonly number[]): number => values.reduce((one, other) => Math.max(one, other), -Infinity)
