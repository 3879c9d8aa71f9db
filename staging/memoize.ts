/** A value that is computed when it is first asked for, and then remembered. */
export const lazy = <A>(compute: () => A): (() => A) => {
  let known: { readonly value: A } | undefined
  // What it is computed from need not stay in memory with it.
  let left: (() => A) | undefined = compute
  return () => {
    if (known === undefined) {
      known = { value: left!() }
      left = undefined
    }
    return known.value
  }
}

/** Remembers a function's results by number; each is computed when it is first asked for. */
export const memoizeByNumber = <A>(compute: (key: number) => A): ((key: number) => A) => {
  const known = new Map<number, A>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined || known.has(key)) return found!
    const made = compute(key)
    known.set(key, made)
    return made
  }
}

/** Remembers where a function that never rises answers as it did last. */
export const rememberSteps = (compute: (at: number) => number): ((at: number) => number) => {
  let [low, high, value] = [Infinity, -Infinity, NaN]
  return (at) => {
    if (low <= at && at <= high) return value
    const answer = compute(at)
    if (answer === value) [low, high] = [Math.min(low, at), Math.max(high, at)]
    else [low, high, value] = [at, at, answer]
    return value
  }
}

/**
 * Remembers a function's results by the key of its argument; each is computed when the first value
 * with that key is asked for.
 */
export const memoize = <A, B>(keyOf: (a: A) => string, compute: (a: A) => B): ((a: A) => B) => {
  const known = new Map<string, { readonly value: B }>()
  return (a) => {
    const key = keyOf(a)
    let found = known.get(key)
    if (found === undefined) known.set(key, (found = { value: compute(a) }))
    return found.value
  }
}

/**
 * Remembers a function's results by an object and a key of all arguments, as long as the object
 * lives; each is computed when the first arguments with that key are given.
 */
export const memoizePerObject = <O extends object, A extends readonly unknown[], B>(
  keyOf: (object: O, ...rest: A) => number | string,
  compute: (object: O, ...rest: A) => B
): ((object: O, ...rest: A) => B) => {
  const known = new WeakMap<O, Map<number | string, { readonly value: B }>>()
  return (object, ...rest) => {
    let ofObject = known.get(object)
    if (ofObject === undefined) known.set(object, (ofObject = new Map<number | string, { readonly value: B }>()))
    const key = keyOf(object, ...rest)
    let found = ofObject.get(key)
    if (found === undefined) ofObject.set(key, (found = { value: compute(object, ...rest) }))
    return found.value
  }
}
