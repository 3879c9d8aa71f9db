/** ||value - reference||, over pairs of tensors as one vector. */
export const distance = (values: readonly ArrayLike<number>[], references: readonly ArrayLike<number>[]): number => {
  let sum = 0
  values.forEach((value, index) => {
    const reference = references[index]!
    if (value.length !== reference.length) throw new Error(`${value.length} elements against ${reference.length}`)
    for (let element = 0; element < value.length; element += 1) sum += (value[element]! - reference[element]!) ** 2
  })
  return Math.sqrt(sum)
}

export const norm = (values: readonly ArrayLike<number>[]): number => {
  let sum = 0
  for (const value of values) for (let element = 0; element < value.length; element += 1) sum += value[element]! ** 2
  return Math.sqrt(sum)
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
