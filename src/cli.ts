import { type Command, CommanderError } from 'commander'
import * as E from 'fp-ts/Either'
import { failureText } from './cli/failure-text'
import { interruption } from './cli/interruption'
import { type Run, commandLine } from './cli/command-line'
import { runCommand } from './cli/run-command'
import { type Failure, bugFailure, exitStatus, inputFailure, errorReason } from './failure'
import { outliveModules } from './modules/outlive-modules'
import { launchedRank } from './ranks/launcher'
import { type CommandName, commandTable, researchTable } from './option-tables/command-table'
import { alternatives } from './text/alternatives'
import { jsonPieces } from './text/json-pieces'
import { printableLines } from './text/printable'

const fail = (json: boolean, failure: Failure): void => {
  process.exitCode = exitStatus[failure.code]
  if (failure.isShared === true && launchedRank(process.env) > 0) return
  const { error, output } = failureText(json, failure)
  process.stderr.write(error)
  if (failure.thrown instanceof Error) process.stderr.write(`${failure.thrown.stack}\n`)
  // Not even nothing, where writing is what failed.
  if (output !== '') process.stdout.write(output)
}

/** Writes a line, until nobody reads it any more. */
const print = (pieces: Iterable<string>): void => {
  for (const piece of pieces) {
    if (process.stdout.errored !== null) return
    process.stdout.write(piece)
  }
  process.stdout.write('\n')
}

/** Lets what happened meanwhile be heard where the addon, which listens by itself, is not built. */
const listen = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Whether the processes of a launcher run a command together; all else the first runs alone. */
const isOfRanks = (name: CommandName, options: object): boolean =>
  name === 'train' || name === 'predict' || (name === 'profile' && 'network' in options)

/** Runs a command and prints its answer or its failure. */
const answer: Run = async (name, options, words) => {
  if (!isOfRanks(name, options) && launchedRank(process.env) > 0) return
  const { json } = words
  const result = runCommand(name, options, words)
  await listen()
  const outcome = await result()
  await listen()
  interruption().beginOutput()
  if (E.isLeft(outcome)) fail(json, outcome.left)
  else if (outcome.right.isSilent !== true) print(json ? jsonPieces(outcome.right.json) : [printableLines(outcome.right.text)])
  interruption().finish()
}

/** The sentence where no command is given: which there are. */
const noCommand = (argv: readonly string[]): string =>
  argv[2] === 'research'
    ? `give a command of research: ${alternatives(Object.keys(researchTable))}; --help says more`
    : `give a command: ${alternatives([...Object.keys(commandTable), 'research'])}; --help says more`

/** commander's complaint as a sentence of ours: "--budget: ...". */
const usageMessage = (text: string): string => {
  const plain = text.replace(/^error: /, '').trim()
  const [, option, reason] = /^option '(--[\w-]+)[^']*' argument '.*?' is invalid\. (.*)$/s.exec(plain) ?? []
  return (option === undefined ? plain : `${option}: ${reason}`).replace(/\s*\n\s*/g, ' ')
}

/**
 * Whoever reads the output may stop, as `head` does, and work goes on; a disk that is full is said.
 */
const outliveOutput = (): void => {
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', (thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'EPIPE') fail(false, inputFailure(`the standard output cannot be written: ${errorReason(thrown)}`))
  })
}

/** The whole command line; sets the process's exit status. */
export const main = async (argv: readonly string[]): Promise<void> => {
  const json = argv.includes('--json')
  outliveOutput()
  interruption(json)
  const quietly = (command: Command): Command => {
    command.exitOverride().configureOutput({ outputError: () => undefined, writeErr: () => undefined })
    command.commands.forEach(quietly)
    return command
  }
  const answered = outliveModules((failure) => fail(json, failure))
  try {
    await quietly(commandLine(answer)).parseAsync([...argv])
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) {
      fail(json, bugFailure(thrown))
    } else if (thrown.exitCode !== 0) {
      fail(json, inputFailure(thrown.code === 'commander.help' ? noCommand(argv) : usageMessage(thrown.message)))
    }
  } finally {
    answered()
  }
}

if (require.main === module) void main(process.argv)
