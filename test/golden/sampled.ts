/** make.py's sampled(): elements at a Weyl sequence of positions. */
export const sampled = (values: ArrayLike<number>, count = 64): readonly number[] =>
  Array.from(
    { length: Math.min(count, values.length) },
    (_, index) => values[Math.floor((((index + 1) * 0.6180339887498949) % 1) * values.length)]!
  )
