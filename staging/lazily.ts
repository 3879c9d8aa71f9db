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
