/**
 * Returns the name in plans of a function that was made with options: "elu", "elu 0.5", "softplus
 * beta2 threshold10", "clamp min0 max6".
 */
export const functionText = <N extends string, A extends object, K extends keyof A & string>(
  name: N,
  options: A | undefined,
  names: readonly K[]
): WithOptions<N, A, K> => {
  const given = names.filter((option) => options?.[option] !== undefined)
  const words = given.map((option) => ` ${names.length === 1 ? '' : option}${String(options![option])}`)
  return `${name}${words.join('')}` as WithOptions<N, A, K>
}

/**
 * The type of what functionText returns, as far as the compiler need know it: the name, and that
 * there may be options.
 */
export type WithOptions<N extends string, A, K extends string> = [keyof A & K] extends [never] ? N : `${N} ${string}`
