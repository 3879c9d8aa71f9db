/** Returns code with what stands before its instructions at the top, by position, or at its end. */
export const insertBefore = <A, B>(code: readonly A[], before: ReadonlyMap<number, readonly B[]> = new Map()): readonly (A | B)[] =>
  before.size === 0
    ? code
    : [...code.flatMap((one, position) => [...(before.get(position) ?? []), one]), ...(before.get(code.length) ?? [])]
