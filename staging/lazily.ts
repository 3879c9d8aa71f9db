/** A value that is computed when it is first asked for, and then remembered. */
export const lazily = <A>(compute: () => A): (() => A) => {
  let known: { readonly value: A } | undefined
  return () => (known ??= { value: compute() }).value
}

/** The same for each number asked for. */
export const lazilyBy = <A>(compute: (key: number) => A): ((key: number) => A) => {
  const known = new Map<number, A>()
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key))
    return known.get(key)!
  }
}

/** The same for everything with a key of its own. */
export const memoised = <A, B>(keyOf: (a: A) => string, compute: (a: A) => B): ((a: A) => B) => {
  const known = new Map<string, { readonly value: B }>()
  return (a) => {
    const key = keyOf(a)
    const found = known.get(key) ?? { value: compute(a) }
    known.set(key, found)
    return found.value
  }
}
