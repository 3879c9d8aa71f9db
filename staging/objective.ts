import * as E from 'fp-ts/Either'
import { inputError, type StagingError } from './error'
import { isLearnable, type Graph } from './graph'
import type { Objective, ParameterGroup } from './lowering/context'

/** Micro-batches whose gradients are added before an update. */
export const microBatches = (objective: Objective): number => (objective.kind === 'train' ? (objective.accumulate ?? 1) : 1)

/** Whether gradients are kept over the step and parameters updated in a section of their own. */
export const updatesLater = (objective: Objective): boolean =>
  objective.kind === 'train' && (microBatches(objective) > 1 || objective.clipNorm !== undefined)

/** Prefixes are whole dotted parts of a parameter's name. */
const matches =
  (parameter: string) =>
  ({ prefix }: ParameterGroup): boolean =>
    prefix === '' || parameter === prefix || parameter.startsWith(`${prefix}.`)

/** How a parameter is trained: by its group of the longest prefix (of equals, the last). */
export interface Learning {
  /** Times the step's learning rate. */
  readonly rate: number
  readonly weightDecay: number
}

/** Undefined for a frozen parameter; where gradients are handed out, every parameter learns, and where a step evaluates, none. */
export const learningOf = (objective: Objective, parameter: string): Learning | undefined => {
  if (objective.kind === 'gradients') return { rate: 1, weightDecay: 0 }
  if (objective.kind === 'evaluate') return undefined
  const group = (objective.groups ?? [])
    .filter(matches(parameter))
    .reduce<ParameterGroup>((longest, one) => (one.prefix.length >= longest.prefix.length ? one : longest), { prefix: '' })
  if (group.frozen === true) return undefined
  return { rate: group.rate ?? 1, weightDecay: group.weightDecay ?? objective.optimizer.weightDecay }
}

const isNegative = (value: number | undefined): boolean => value !== undefined && !(value >= 0 && Number.isFinite(value))

const firstAndLast = (names: readonly string[]): string =>
  names.length === 0 ? 'there is none' : `the first is ${names[0]}, the last ${names[names.length - 1]}`

const reasonAgainst = (graph: Graph, objective: Objective): string | undefined => {
  if (objective.kind !== 'train') return undefined
  const { accumulate = 1, clipNorm = 1, groups = [], rowWeights } = objective
  const names = graph.parameters.filter(isLearnable).map(({ name }) => name)
  const loss = graph.nodes[graph.nodes.length - 1]!
  if (!Number.isSafeInteger(accumulate) || accumulate < 1)
    return `gradients cannot be accumulated over ${accumulate} micro-batches; take a whole number above zero`
  if (!(clipNorm > 0 && Number.isFinite(clipNorm))) return `gradients cannot be clipped to a norm of ${clipNorm}; take one above zero`
  if (rowWeights === true && loss.op !== 'softmaxCrossEntropy')
    return `rows are weighted in softmaxCrossEntropy only, but the loss is ${loss.op}; leave out the weights`
  const unmatched = groups.find((group) => !names.some((name) => matches(name)(group)))
  if (unmatched !== undefined)
    return `no parameter's name starts with ${unmatched.prefix}, as a parameter group asks; ${firstAndLast(names)}`
  const negative = groups.find(({ rate, weightDecay }) => isNegative(rate) || isNegative(weightDecay))
  if (negative !== undefined)
    return `the parameter group ${negative.prefix === '' ? 'of all' : negative.prefix} has a rate of ${negative.rate ?? 1} and a weight decay of ${negative.weightDecay ?? objective.optimizer.weightDecay}; take numbers from 0 upwards`
  if (names.length > 0 && names.every((name) => learningOf(objective, name) === undefined))
    return 'every parameter is frozen, so there is nothing to train; leave at least one out of the frozen groups'
  return undefined
}

/** An objective that the graph can be trained for; otherwise one sentence. */
export const checkObjective = (graph: Graph, objective: Objective): E.Either<StagingError, Graph> => {
  const reason = reasonAgainst(graph, objective)
  return reason === undefined ? E.right(graph) : E.left(inputError(`${graph.model}: ${reason}.`))
}
