/** A value that is computed when it is first asked for, and then remembered. */
export const lazy = <A>(compute: () => A): (() => A) => {
  let known: { readonly value: A } | undefined
  return () => (known ??= { value: compute() }).value
}

/**
 * What a function makes of a number, which is computed when that is first asked for, and then
 * remembered.
 */
export const memoizeByNumber = <A>(compute: (key: number) => A): ((key: number) => A) => {
  const known = new Map<number, A>()
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key))
    return known.get(key)!
  }
}

/**
 * What a function makes of a value, which is computed when the first one with its key is asked for,
 * and then remembered.
 */
export const memoize = <A, B>(keyOf: (a: A) => string, compute: (a: A) => B): ((a: A) => B) => {
  const known = new Map<string, { readonly value: B }>()
  return (a) => {
    const key = keyOf(a)
    const found = known.get(key) ?? { value: compute(a) }
    known.set(key, found)
    return found.value
  }
}
