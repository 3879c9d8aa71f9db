import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'

type Name =
  | 'validation'
  | 'validateEvery'
  | 'validateOn'
  | 'perImage'
  | 'best'
  | 'bestBy'
  | 'earlyStop'
  | 'state'
  | 'stateEvery'
  | 'resume'
  | 'steps'
  | 'epochs'
  | 'newHead'
  | 'reset'
  | 'weights'
  | 'heatmap'
  | 'report'
  | 'save'

/** Options that make sense only with another, by their names on the command line. */
const needs: readonly (readonly [option: Name, flag: string, needed: Name, neededFlag: string])[] = [
  ['validateEvery', '--validate-every', 'validation', '--validation'],
  ['validateOn', '--validate-on', 'validation', '--validation'],
  ['perImage', '--per-image', 'validation', '--validation'],
  ['best', '--best', 'validation', '--validation'],
  ['bestBy', '--best-by', 'validation', '--validation'],
  ['earlyStop', '--early-stop', 'validation', '--validation'],
  ['stateEvery', '--state-every', 'state', '--state'],
  ['resume', '--resume', 'state', '--state'],
  ['newHead', '--new-head', 'weights', '--weights'],
  ['reset', '--reset', 'weights', '--weights'],
  ['heatmap', '--heatmap', 'validation', '--validation'],
  ['heatmap', '--heatmap', 'report', '--report'],
  ['heatmap', '--heatmap', 'save', '--save']
]

/** Checks that the options go together; fails with a sentence where they do not. */
export const checkOptions = (options: { readonly [N in Name]?: unknown }): E.Either<Failure, void> => {
  if (options.steps !== undefined && options.epochs !== undefined)
    return E.left(inputFailure('--steps and --epochs both say how long to train: give one of them'))
  const lacking = needs.find(
    ([option, , needed]) => options[option] !== undefined && options[option] !== false && options[needed] === undefined
  )
  return lacking === undefined ? E.right(undefined) : E.left(inputFailure(`${lacking[1]} needs ${lacking[3]}: give both`))
}
