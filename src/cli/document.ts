import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandSpec, commandTable, researchDescription, researchTable } from '../option-tables/command-table'
import { type OptionTable, argumentUsage, defaultText, optionFlag, placeholderUsage, refusalFlag } from '../options/option'
import { optimizerOptions } from '../option-tables/optimizer-options'
import { budgetOptions, measureOption, modelOptions, planningOptions, seedOption } from '../option-tables/setup-options'

type Row = OptionTable[string]

const cell = (text: string): string => text.replaceAll('|', '\\|')

const usageText = (name: string, { kind }: Row): string =>
  kind.commandLine?.form === 'text' ? `${optionFlag(name)} ${placeholderUsage(kind.commandLine)}` : optionFlag(name)

const choicesText = ({ kind }: Row): string => {
  const choices = kind.commandLine?.form === 'text' ? kind.commandLine.choices : undefined
  return choices === undefined ? '' : `: ${choices.map((choice) => `\`${choice}\``).join(', ')}`
}

const isShown = ({ kind, isArgument, isHidden }: Row): boolean => kind.commandLine !== undefined && !isArgument && !isHidden

const tableRows = ([name, row]: readonly [string, Row]): readonly string[] => {
  const absent = row.presence === 'required' ? 'required' : (defaultText(row) ?? '')
  return [
    `| \`${cell(usageText(name, row))}\` | ${cell(row.help)}${choicesText(row)} | ${cell(absent)} |`,
    ...(row.refusal === undefined ? [] : [`| \`${refusalFlag(name)}\` | ${cell(row.refusal)} | |`])
  ]
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

const table = (rows: readonly (readonly [string, Row])[]): readonly string[] => [
  '| option | what it is | where it is left out |',
  '| ------ | ---------- | ------------------- |',
  ...rows.flatMap(tableRows)
]

/** Options of several commands, told once. */
const groups: Readonly<Record<string, OptionTable>> = {
  'Model and device': modelOptions,
  Planning: { ...budgetOptions, ...planningOptions, ...measureOption, ...seedOption },
  Optimizer: optimizerOptions
}

const anchor = (title: string): string => `[${title.toLowerCase()}](#${title.toLowerCase().replaceAll(' ', '-')})`

/** The options of a group that a command takes, as a link where it takes them all. */
const sharedText = (title: string, group: OptionTable, options: OptionTable): readonly string[] => {
  const all = Object.keys(group).filter((name) => !group[name]!.isArgument)
  const taken = all.filter((name) => options[name]?.help === group[name]!.help && isShown(options[name]))
  if (taken.length === 0) return []
  if (taken.length === all.length) return [`all of ${anchor(title)}`]
  const flags = taken.flatMap((name) => [optionFlag(name), ...(options[name]!.refusal === undefined ? [] : [refusalFlag(name)])])
  return [`of ${anchor(title)} ${flags.map((flag) => `\`${flag}\``).join(', ')}`]
}

const isShared = (name: string, { help }: Row): boolean => Object.values(groups).some((group) => group[name]?.help === help)

const commandText = (prefix: string, name: string, { description, options }: CommandSpec): string => {
  const rows = Object.entries(options)
  const [argument, row] = rows.find(([, { isArgument }]) => isArgument)!
  const usage = argumentUsage(argument, row)
  const own = rows.filter(([option, row]) => isShown(row) && !isShared(option, row))
  const shared = Object.entries(groups).flatMap(([title, group]) => sharedText(title, group, options))
  return [
    `### ${prefix}${name}`,
    '',
    sentence(description),
    '',
    `    npx tilefold ${prefix}${name} ${usage}`,
    '',
    `\`${usage}\` is ${row.help}.`,
    ...(own.length === 0 ? [] : ['', ...table(own)]),
    ...(shared.length === 0 ? [] : ['', `Beside them: ${shared.join('; ')}.`]),
    ''
  ].join('\n')
}

const groupText = ([title, group]: readonly [string, OptionTable]): string =>
  [`### ${title}`, '', ...table(Object.entries(group).filter(([, row]) => isShown(row))), ''].join('\n')

/** The document of the command line, in Markdown: made from the tables of commands and options. */
export const commandLineDocument = (): string =>
  [
    '# The command line',
    '',
    'Made by `npm run generate` from the tables of options in `src/option-tables`; a test holds it to them.',
    '',
    'A function of the library has the name of its command, and its options the names of the options in camel case:',
    '`--host-budget` is `hostBudget`. Every command takes `--json`, too: one JSON object on standard output; and `--quiet`: nothing is said',
    'of how far it is.',
    '',
    '## Options of several commands',
    '',
    ...Object.entries(groups).map(groupText),
    '## Commands',
    '',
    ...Object.entries<CommandSpec>(commandTable).map(([name, command]) => commandText('', name, command)),
    '## Research commands',
    '',
    sentence(researchDescription),
    '',
    ...Object.entries<CommandSpec>(researchTable).map(([name, command]) => commandText('research ', name, command))
  ].join('\n')

/** The path of the document that is made of the tables of options. */
export const commandLinePath = join(__dirname, '..', '..', 'docs', 'command-line.md')

if (require.main === module) writeFileSync(commandLinePath, commandLineDocument())
