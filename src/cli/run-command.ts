import type { CommandName } from '../options/command-table'
import type * as Bench from './bench'
import type * as Chain from './chain'
import type { CommandResult } from './command-result'
import type * as Compare from './compare'
import type * as Explain from './explain'
import type * as Gradients from './gradients'
import type * as Offload from './offload'
import type * as Place from './place'
import type * as Plan from './plan'
import type * as Predict from './predict'
import type * as Profile from './profile'
import type * as Train from './train'

type Teller = (options: never, json: boolean) => CommandResult

/** Each command's code is loaded when it is called, so that no command pays for another's start. */
const tellers: { readonly [N in CommandName]: () => Teller } = {
  plan: () => (require('./plan') as typeof Plan).planCommand,
  explain: () => (require('./explain') as typeof Explain).explainCommand,
  compare: () => (require('./compare') as typeof Compare).compareCommand,
  train: () => (require('./train') as typeof Train).trainCommand,
  predict: () => (require('./predict') as typeof Predict).predictCommand,
  gradients: () => (require('./gradients') as typeof Gradients).gradientsCommand,
  bench: () => (require('./bench') as typeof Bench).benchCommand,
  profile: () => (require('./profile') as typeof Profile).profileCommand,
  chain: () => (require('./chain') as typeof Chain).chainCommand,
  offload: () => (require('./offload') as typeof Offload).offloadCommand,
  place: () => (require('./place') as typeof Place).placeCommand
}

/** Runs a command: what it answers, as data and in words. */
export const runCommand = (name: CommandName, options: object, json: boolean): CommandResult => tellers[name]()(options as never, json)
