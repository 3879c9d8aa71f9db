import type { Command } from 'commander'

/** Options that may be given more than once. */
const repeatable: readonly string[] = ['freeze', 'group']

/** An empty prefix is that of all parameters. */
const mayBeEmpty: readonly string[] = ['freeze']

/** What is likely no value of the option; undefined where nothing speaks against it. */
const doubt = (name: string, value: string, before: string | undefined): string | undefined => {
  if (value === '' && !mayBeEmpty.includes(name)) return 'its value is empty: give one, or leave the option out'
  if (/^--?[a-z]/i.test(value)) return `${JSON.stringify(value)} looks like an option: give a value, as ./${value} if that is a file`
  return before === undefined || before === value || repeatable.includes(name)
    ? undefined
    : `it is given twice, as ${JSON.stringify(before)} and as ${JSON.stringify(value)}: give it once`
}

/**
 * Refuses what commander takes without a word: of an option that is given twice it takes the last,
 * and any text for a value.
 */
export const refuseDoubtful = (command: Command): void => {
  command.commands.forEach(refuseDoubtful)
  for (const option of command.options) {
    let before: string | undefined
    command.on(`option:${option.name()}`, (value: string | null | undefined) => {
      if (typeof value !== 'string') return
      const found = doubt(option.name(), value, before)
      before = value
      if (found !== undefined) command.error(`--${option.name()}: ${found}`)
    })
  }
}
