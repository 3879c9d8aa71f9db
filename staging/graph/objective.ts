import * as E from 'fp-ts/Either'
import { inputError, type StagingError } from '../error'
import { hasTarget, isNormalised, isTrainable, type Graph, type Shard } from './graph'
import { effectiveTileCount } from './interval'

/** How gradients update parameters, with the constants of the method. */
export type Optimizer =
  | { readonly kind: 'sgd'; readonly momentum: number; readonly weightDecay: number }
  | {
      readonly kind: 'adam' | 'adamw'
      readonly beta1: number
      readonly beta2: number
      readonly epsilon: number
      readonly weightDecay: number
    }

/** How the parameters with a prefix are trained; the group with the longest prefix decides. */
export interface ParameterGroup {
  /** The first dotted parts of parameters' names: 'features', 'features.0.weight'; '' for all. */
  readonly prefix: string
  /** Times the learning rate; 1 where absent. */
  readonly rate?: number
  /** The optimizer's where absent. */
  readonly weightDecay?: number
  /**
   * Neither gradient nor optimizer state; backward ends at the first parameter that is not frozen.
   */
  readonly frozen?: true
}

/** Steps that train: their optimizer, and how gradients are accumulated and merged. */
export interface Training {
  readonly kind: 'train'
  readonly optimizer: Optimizer
  /**
   * Micro-batches whose gradients are added in the arena before the section `update` uses them;
   * losses are divided by all their rows.
   */
  readonly accumulate?: number
  /**
   * Processes that share the micro-batches of an update, a divisor of `accumulate`; with a `shard`,
   * groups of processes. Each leaves the gradients of one at a time to the section `reduce`, which
   * adds those of all ranks in the order of micro-batches. Sums, and with them all weights, have
   * the same bits for every number.
   */
  readonly ranks?: number
  /**
   * The processes that share the images of each batch, or their rows, and which of them this is:
   * each leaves the gradients of its part to the section `reduce`, which adds those of all in the
   * order of micro-batches, and of images and rows within one. Without `ranks` each process runs
   * all micro-batches.
   */
  readonly shard?: Shard
  /**
   * Each rank keeps the optimizer state of its slices of the parameters, updates those, and all
   * gather the weights (ZeRO stage 1: Rajbhandari et al. 2020). Nothing where no ranks add
   * gradients.
   */
  readonly shardOptimizer?: true
  /**
   * The section `update` scales all gradients together to this norm at most (Pascanu et al. 2013,
   * as torch.nn.utils.clip_grad_norm_).
   */
  readonly clipNorm?: number
  readonly groups?: readonly ParameterGroup[]
  /**
   * A factor for each row's loss comes with the step, [B] `rowWeights`; not for losses of pixels.
   */
  readonly rowWeights?: true
  /**
   * A section `evaluate` is wanted: forward alone as for the objective `evaluate`, and of pixels
   * with a `target` their `loss` too.
   */
  readonly evaluate?: true
}

/** Steps that run forward alone. */
export interface Evaluation {
  readonly kind: 'evaluate'
  /** A target comes with the step, whose loss is handed out, as by the section `evaluate`. */
  readonly compares?: true
}

/**
 * What a step is for: training with an optimizer, handing out every gradient, or forward alone,
 * without dropout and by running statistics, which hands out the loss layer's input as `scores`, or
 * of pixels the best class as `classes`.
 */
export type Objective = Training | { readonly kind: 'gradients' } | Evaluation

/** The most ranks that share an update: plans keep room for what all of them send. */
export const mostRanks = 1024

/** Micro-batches whose gradients are added before an update. */
export const microBatches = (objective: Objective): number => (objective.kind === 'train' ? (objective.accumulate ?? 1) : 1)

/** Whether gradients are kept over the step and parameters updated in a section of their own. */
export const hasSeparateUpdate = (objective: Objective): boolean =>
  objective.kind === 'train' && (microBatches(objective) > 1 || objective.clipNorm !== undefined || reducingRanks(objective) !== undefined)

/** The rank of a process that shares batches with others; undefined where it does not. */
export const shardIn = (objective: Objective): Shard | undefined => (objective.kind === 'train' ? objective.shard : undefined)

/** Ranks that share a batch; 1 where each runs whole ones. */
export const ranksOfImage = (objective: Objective): number => shardIn(objective)?.count ?? 1

const groupsIn = (objective: Objective): number | undefined => (objective.kind === 'train' ? objective.ranks : undefined)

/**
 * Ranks among which a section `reduce` adds the gradients of micro-batches, or of rows; undefined
 * without it.
 */
export const reducingRanks = (objective: Objective): number | undefined =>
  (shardIn(objective) ?? groupsIn(objective)) === undefined ? undefined : ranksOfImage(objective) * (groupsIn(objective) ?? 1)

/** Ranks each of which updates slices of the parameters alone; undefined where each updates all. */
export const ranksOfOptimizer = (objective: Objective): number | undefined =>
  objective.kind === 'train' && objective.shardOptimizer === true ? reducingRanks(objective) : undefined

/**
 * Whether micro-batches run on several ranks, or groups of them, whose moments the section `reduce`
 * hands to all.
 */
export const sharesMicroBatches = (objective: Objective): boolean => groupsIn(objective) !== undefined

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))

/**
 * Equal slices into which every gradient can be cut, where ranks add gradients: as many for every
 * number of groups that can share the micro-batches, so that a plan's memory is the same for all.
 */
export const gradientSlices = (objective: Objective): number => {
  const rows = ranksOfImage(objective)
  if (!sharesMicroBatches(objective)) return rows
  const batches = microBatches(objective)
  const most = Math.min(batches, Math.floor(mostRanks / rows))
  let multiple = 1
  for (let count = 2; count <= most; count++) if (batches % count === 0) multiple *= count / divisor(multiple, count)
  return rows * multiple
}

/** Whether steps add their gradients to those of the steps before. */
export const stepsAccumulate = (objective: Objective): boolean => microBatches(objective) > 1 && reducingRanks(objective) === undefined

/** Steps that one process runs for an update. */
export const stepsOfUpdate = (objective: Objective): number => microBatches(objective) / (groupsIn(objective) ?? 1)

/** Tells whether a parameter's name has a prefix, which is whole dotted parts; '' is any name's. */
export const hasPrefix = (parameter: string, prefix: string): boolean =>
  prefix === '' || parameter === prefix || parameter.startsWith(`${prefix}.`)

const matches =
  (parameter: string) =>
  ({ prefix }: ParameterGroup): boolean =>
    hasPrefix(parameter, prefix)

/** How a parameter is trained: by its group of the longest prefix (of equals, the last). */
export interface TrainingParameters {
  /** Times the step's learning rate. */
  readonly rate: number
  readonly weightDecay: number
}

/**
 * Undefined for a frozen parameter; where gradients are handed out, every parameter learns, and
 * where a step evaluates, none.
 */
export const findTrainingParameters = (objective: Objective, parameter: string): TrainingParameters | undefined => {
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

/** The name that a prefix is the beginning of, where it ends within a part, as layer of layer1. */
const wholeParts = (names: readonly string[], { prefix }: ParameterGroup): string => {
  const near = names.find((name) => name.startsWith(prefix))
  return near === undefined ? '' : `: take whole parts of a name, such as ${near.split('.', prefix.split('.').length).join('.')}`
}

/** Why ranks cannot share the images of a graph, or their rows; undefined where they can. */
const reasonAgainstShard = ({ input }: Graph, shard: Shard): string | undefined => {
  const { count, index, images = 1 } = shard
  if (!(Number.isSafeInteger(count) && count >= 1 && Number.isSafeInteger(index) && index >= 0 && index < count))
    return `there is no rank ${index} of ${count} that share ${images > 1 ? 'a batch' : 'rows'}; count ranks from 0`
  const rows = count / images
  if (!(Number.isSafeInteger(images) && images >= 1 && Number.isSafeInteger(rows)))
    return `${count} ranks make no groups for ${images} parts of a batch; start a multiple of ${images}`
  if (images > 1 && effectiveTileCount(input[0], images) !== images)
    return `${images} groups of ranks cannot share the ${input[0]} images of a batch, each some of them; take fewer, or a larger batch`
  return count > mostRanks || rows > input[2] ? `${rows} ranks cannot share the ${input[2]} rows of an image; start fewer` : undefined
}

const reasonAgainst = (graph: Graph, objective: Objective): string | undefined => {
  if (objective.kind !== 'train') return undefined
  const { accumulate = 1, ranks = 1, shard, clipNorm = 1, groups = [], rowWeights } = objective
  const names = graph.parameters.filter(isTrainable).map(({ name }) => name)
  const loss = graph.nodes[graph.nodes.length - 1]!
  if (!Number.isSafeInteger(accumulate) || accumulate < 1)
    return `gradients cannot be accumulated over ${accumulate} micro-batches; take a whole number above zero`
  const unshared = shard && reasonAgainstShard(graph, shard)
  if (unshared !== undefined) return unshared
  const all = ranks * ranksOfImage(objective)
  if (all > mostRanks) return `${all} ranks are more than the ${mostRanks} that can share an update; start fewer`
  if (!Number.isSafeInteger(ranks) || ranks < 1 || accumulate % ranks !== 0)
    return `${ranks} ${shard === undefined ? '' : 'groups of '}ranks cannot share ${accumulate} micro-batches of an update alike; accumulate a multiple of ${ranks}`
  if (!(clipNorm > 0 && Number.isFinite(clipNorm))) return `gradients cannot be clipped to a norm of ${clipNorm}; take one above zero`
  if (rowWeights === true && !hasTarget(loss, 'labels') && !(hasTarget(loss, 'values') && isNormalised(loss)))
    return `rows are not weighted in the loss ${loss.op}; leave out the weights`
  const unmatched = groups.find((group) => !names.some((name) => matches(name)(group)))
  if (unmatched !== undefined)
    return `no layer or parameter is called ${unmatched.prefix}, as ${unmatched.frozen === true ? 'what is frozen' : 'a parameter group'} asks${wholeParts(names, unmatched)}; ${firstAndLast(names)}`
  const negative = groups.find(({ rate, weightDecay }) => isNegative(rate) || isNegative(weightDecay))
  if (negative !== undefined)
    return `the parameter group ${negative.prefix === '' ? 'of all' : negative.prefix} has a rate of ${negative.rate ?? 1} and a weight decay of ${negative.weightDecay ?? objective.optimizer.weightDecay}; take numbers from 0 upwards`
  if (names.length > 0 && names.every((name) => findTrainingParameters(objective, name) === undefined))
    return 'every parameter is frozen, so there is nothing to train; leave at least one out of the frozen groups'
  return undefined
}

/** An objective that the graph can be trained for; otherwise one sentence. */
export const checkObjective = (graph: Graph, objective: Objective): E.Either<StagingError, Graph> => {
  const reason = reasonAgainst(graph, objective)
  return reason === undefined ? E.right(graph) : E.left(inputError(`${graph.model}: ${reason}.`))
}
