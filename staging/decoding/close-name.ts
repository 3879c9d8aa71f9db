/** Without what people write differently: case, hyphens, underscores. */
const plain = (name: string): string => name.toLowerCase().replace(/[-_]/g, '')

/** Letters to add, take away, replace or swap with their neighbour (optimal string alignment). */
const distance = (a: string, b: string): number => {
  let [before, above] = [[] as readonly number[], Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= a.length; row += 1) {
    const here = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const changed = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1)
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1] ? before[column - 2]! + 1 : Infinity
      here.push(Math.min(changed, swapped, above[column]! + 1, here[column - 1]! + 1))
    }
    ;[before, above] = [above, here]
  }
  return above[b.length]!
}

/** "lr" of learningRate or learning-rate. */
const initials = (name: string): string => (name.match(/^.|[A-Z]|(?<=[-_])./g) ?? []).join('').toLowerCase()

const longestCompared = 40

/**
 * Finds the name that was likely meant: spelt nearly like `given`, or its beginning or initials, as
 * s is of stride and lr of learningRate; else undefined.
 */
const closeName = (given: string, names: readonly string[]): string | undefined => {
  if (given.length > longestCompared) return undefined
  const wanted = plain(given)
  const [nearest] = names
    .map((name) => ({ name, away: distance(wanted, plain(name)) }))
    .filter(({ name, away }) => away <= Math.max(1, Math.floor(Math.min(name.length, wanted.length) / 3)))
    .sort((a, b) => a.away - b.away)
  // A single letter is near every other one.
  if (nearest !== undefined && (nearest.away === 0 || nearest.name.length > 1)) return nearest.name
  return names.find((name) => wanted.startsWith(plain(name)) || plain(name).startsWith(wanted) || initials(given) === name)
}

/** A question to end a sentence with: "; did you mean budget?"; nothing where no name is near. */
export const suggestion = (given: string, names: readonly string[]): string => {
  const meant = closeName(given, names)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}
