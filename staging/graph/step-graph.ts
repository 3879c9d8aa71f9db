import type { Graph } from './graph'
import type { Objective } from './objective'

/**
 * How a step's input arrives: as images, which are normalised by a mean and a deviation for
 * each channel while tiles are loaded, or as float values in the I/O buffer.
 */
export type Source =
  | { readonly kind: 'image'; readonly mean: readonly number[]; readonly deviation: readonly number[] }
  | { readonly kind: 'float' }

/**
 * A graph with what a step on it computes and how its input arrives: with a device, all that a plan
 * is made for.
 */
export interface StepGraph extends Graph {
  readonly objective: Objective
  readonly source: Source
}

/** The graph as one process runs it by itself. */
export const withoutRanks = ({ shard: _, objective, ...graph }: StepGraph): StepGraph => {
  if (objective.kind !== 'train') return { ...graph, objective }
  const { shard: _shard, ranks: _ranks, ...alone } = objective
  return { ...graph, objective: alone }
}
