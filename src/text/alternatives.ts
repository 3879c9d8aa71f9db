/** Names in a sentence that leaves the choice: "cpu, cuda or reference". */
export const alternatives = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
