/** A value that is computed when it is first asked for, and then remembered. */
export const lazily = <A>(compute: () => A): (() => A) => {
  let known: { readonly value: A } | undefined
  return () => (known ??= { value: compute() }).value
}
