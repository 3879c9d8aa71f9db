import type { Command } from 'commander'

/** The part of an option's form that says whether values may be several, or empty. */
interface Usual {
  readonly isRepeatable?: true
  readonly mayBeEmpty?: true
}

/**
 * Returns why a text is likely no value of the option; undefined where nothing speaks against it.
 */
const doubt = ({ isRepeatable, mayBeEmpty }: Usual, value: string, before: string | undefined): string | undefined => {
  if (value === '' && !mayBeEmpty) return 'its value is empty: give one, or leave the option out'
  if (/^--?[a-z]/i.test(value)) return `${JSON.stringify(value)} looks like an option: give a value, as ./${value} if that is a file`
  return before === undefined || before === value || isRepeatable
    ? undefined
    : `it is given twice, as ${JSON.stringify(before)} and as ${JSON.stringify(value)}: give it once`
}

/** Refuses a flag beside the one that takes it back: commander takes the last. */
export const refuseContradiction = (command: Command, name: string): void => {
  const given = new Set<string>()
  for (const flag of [name, `no-${name}`])
    command.on(`option:${flag}`, () => {
      if (given.add(flag).size === 2) command.error(`--${name} and --no-${name} contradict each other: give one of them`)
    })
}

/**
 * Refuses what commander takes without a word: of an option that is given twice it takes the last,
 * and any text for a value.
 */
export const refuseDoubtfulOptions = (command: Command, name: string, usual: Usual): void => {
  let before: string | undefined
  command.on(`option:${name}`, (value: string | null | undefined) => {
    if (typeof value !== 'string') return
    const found = doubt(usual, value, before)
    before = value
    if (found !== undefined) command.error(`--${name}: ${found}`)
  })
}
