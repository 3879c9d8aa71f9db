import { Command, CommanderError, InvalidArgumentError, Option as CommanderOption } from 'commander'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type CommandName, type CommandSpec, commandTable, researchDescription, researchTable } from '../option-tables/command-table'
import {
  type OptionTable,
  type CommandLineForm,
  argumentUsage,
  helpLine,
  optionFlag,
  placeholderUsage,
  refusalFlag
} from '../options/option'
import type { Words } from './command-result'
import { refuseContradiction, refuseDoubtfulOptions } from './doubtful-options'

type Row = OptionTable[string]
type Text = Extract<CommandLineForm<unknown>, { readonly form: 'text' }>

/** A parser for commander, which wants sentences thrown. */
const parserOf =
  ({ parse, isRepeatable }: Text) =>
  (text: string, before: unknown): unknown => {
    const value = pipe(
      parse(text),
      E.getOrElse((sentence): unknown => {
        throw new InvalidArgumentError(sentence)
      })
    )
    return isRepeatable ? [...((before ?? []) as readonly unknown[]), ...(value as readonly unknown[])] : value
  }

const addOption = (command: Command, table: OptionTable, name: string, row: Row, isHidden = false): void => {
  const { kind, presence, conflicts = [] } = row
  if (kind.commandLine === undefined) return
  const flag = optionFlag(name)
  const option = new CommanderOption(
    kind.commandLine.form === 'flag' ? flag : `${flag} ${placeholderUsage(kind.commandLine)}`,
    helpLine(row)
  )
  if (kind.commandLine.form === 'text') option.argParser(parserOf(kind.commandLine))
  // Of the older name nothing is required: where it is given, the newer one is not.
  if (presence === 'required' && !isHidden) option.makeOptionMandatory()
  option.conflicts(conflicts.flatMap((other) => [other, table[other]?.formerly ?? other]))
  command.addOption(option.hideHelp(isHidden || row.isHidden === true))
  if (row.refusal !== undefined) {
    command.addOption(new CommanderOption(refusalFlag(name), row.refusal))
    refuseContradiction(command, flag.slice(2))
  }
  // After commander's own listener, which parses the text.
  if (kind.commandLine.form === 'text') refuseDoubtfulOptions(command, flag.slice(2), kind.commandLine)
}

const addOptions = (command: Command, table: OptionTable): Command => {
  for (const [name, row] of Object.entries(table)) {
    if (row.isArgument) command.argument(argumentUsage(name, row), row.help)
    else {
      addOption(command, table, name, row)
      if (row.formerly !== undefined) addOption(command, table, row.formerly, row, true)
    }
  }
  return command.option('--json', 'one JSON object on standard output').option('--quiet', 'say nothing of how far it is')
}

/** Runs a command, with its options as the library's function of that name takes them. */
export type Run = (name: CommandName, options: object, words: Words) => Promise<void>

const addCommand = (parent: Command, run: Run, name: CommandName, { description, options: table }: CommandSpec, hidden = false): void => {
  const argument = Object.keys(table).find((option) => table[option]!.isArgument)!
  addOptions(parent.command(name, { hidden }).description(description), table).action(
    (value: string | undefined, { json = false, quiet = false, ...options }: Partial<Words>) =>
      run(name, { ...options, ...(value !== undefined && { [argument]: value }) }, { json, quiet })
  )
}

const printVersion = (): never => {
  process.stdout.write(`${(require('tilefold/package.json') as { readonly version: string }).version}\n`)
  throw new CommanderError(0, 'tilefold.version', '')
}

/** The whole command line, made from the tables of commands and options. */
export const commandLine = (run: Run): Command => {
  const tilefold = new Command('tilefold')
    .description('Train convolutional networks on images larger than memory, within a budget.')
    .option('-V, --version', 'print the version')
    .on('option:version', printVersion)
  const names = <T extends Readonly<Record<string, CommandSpec>>>(table: T) => Object.keys(table) as (keyof T & CommandName)[]
  for (const name of names(commandTable)) addCommand(tilefold, run, name, commandTable[name])
  const research = tilefold.command('research').description(researchDescription)
  for (const name of names(researchTable)) {
    addCommand(research, run, name, researchTable[name])
    // As they were called before there was `research`.
    addCommand(tilefold, run, name, researchTable[name], true)
  }
  return tilefold
}
