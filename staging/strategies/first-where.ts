/** By bisection: the first of these numbers that does, or the last one. */
export const firstWhere = (first: number, last: number, does: (number: number) => boolean): number => {
  let [low, high] = [first, last]
  while (low < high) {
    const middle = (low + high) >> 1
    if (does(middle)) high = middle
    else low = middle + 1
  }
  return low
}
