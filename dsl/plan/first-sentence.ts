/** Returns the first sentence that one of the values has, or undefined where none has one. */
export const firstSentence = <A>(values: readonly A[], validate: (value: A, index: number) => string | undefined): string | undefined => {
  for (const [index, value] of values.entries()) {
    const sentence = validate(value, index)
    if (sentence !== undefined) return sentence
  }
  return undefined
}
