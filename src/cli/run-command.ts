import type { CommandName } from '../option-tables/command-table'
import type * as Bench from './bench-command'
import type * as Chain from './chain-command'
import type { CommandResult, Words } from './command-result'
import type * as Compare from './compare-command'
import type * as Explain from './explain-command'
import type * as Gradients from './gradients-command'
import type * as Offload from './offload-command'
import type * as Place from './place-command'
import type * as Plan from './plan-command'
import type * as Predict from './predict-command'
import type * as Profile from './profile-command'
import type * as Train from './train-command'

type Teller = (options: never, words: Words) => CommandResult

/** Each command's code is loaded when it is called, so that no command pays for another's start. */
const tellers: { readonly [N in CommandName]: () => Teller } = {
  plan: () => (require('./plan-command') as typeof Plan).planCommand,
  explain: () => (require('./explain-command') as typeof Explain).explainCommand,
  compare: () => (require('./compare-command') as typeof Compare).compareCommand,
  train: () => (require('./train-command') as typeof Train).trainCommand,
  predict: () => (require('./predict-command') as typeof Predict).predictCommand,
  gradients: () => (require('./gradients-command') as typeof Gradients).gradientsCommand,
  bench: () => (require('./bench-command') as typeof Bench).benchCommand,
  profile: () => (require('./profile-command') as typeof Profile).profileCommand,
  chain: () => (require('./chain-command') as typeof Chain).chainCommand,
  offload: () => (require('./offload-command') as typeof Offload).offloadCommand,
  place: () => (require('./place-command') as typeof Place).placeCommand
}

/**
 * Runs a command, of whose table of options these are: what it answers, as data and in words.
 */
export const runCommand = (name: CommandName, options: object, words: Words): CommandResult => tellers[name]()(options as never, words)
