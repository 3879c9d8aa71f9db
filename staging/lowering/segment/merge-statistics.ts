import { boundaryTensors } from '../../graph/boundary-tensors'
import { accumulatesStatistics } from '../../graph/statistics'
import { findShard } from '../../graph/shard'
import type { Segment } from '../../plans/plan'
import { doubleBytes, maximumBytes, momentBytes } from '../../ops/moment-addresses'
import { arenaOperand, type Buffer } from '../ir/builder'
import type { TileTensor } from '../ir/tile-tensor'
import type { ModelScope } from '../scope/scope'
import { reducesSpatially } from '../tile/accumulate'
import type { Pass } from '../tile/bound-segment'
import { findMomentAccumulators } from '../tile/moments'
import { gatherParts } from './gather-parts'

/** Tells whether the ranks gather statistics of a tensor that a segment makes, each of its part. */
const isGatheredInParts = ({ graph }: Pick<ModelScope, 'graph'>, segment: Segment, tensor: number): boolean =>
  findShard(graph, segment) !== undefined && !reducesSpatially(graph.nodes[tensor - 1]!)

const madeBy = ({ from, to }: Segment): readonly number[] => Array.from({ length: to - from }, (_, index) => from + 1 + index)

/** The positions of ops whose moments, or overlaps, ranks gather in a segment, each of its part. */
export const listTensorsGatheredInParts = (scope: Pick<ModelScope, 'graph'>, segment: Segment): readonly number[] =>
  madeBy(segment)
    .filter((tensor) => isGatheredInParts(scope, segment, tensor))
    .flatMap((tensor) => scope.graph.readers[tensor]!.filter((reader) => accumulatesStatistics(scope.graph.nodes[reader]!)))

/** Sums in double of which each rank has a part become those of all ranks, added in their order. */
export const addSumsOfRanks = ({ builder, graph }: Pick<ModelScope, 'builder' | 'graph'>, buffer: Buffer): void => {
  const parts = graph.shard!.count
  const source = arenaOperand(gatherParts(builder, buffer, parts))
  builder.launch<'addSums'>({ kind: 'addSums', count: buffer.bytes / doubleBytes, parts }, { source, sums: arenaOperand(buffer) })
}

/**
 * After a segment's forward: of what each rank has gathered of its rows, all make the moments of
 * all rows, merged in the order of ranks (Chan, Golub, LeVeque 1979), and the sums of overlaps.
 */
export const mergeStatistics = (scope: ModelScope, segment: Segment, pass: Pick<Pass, 'mode'>): void => {
  const { builder, graph, moments } = scope
  for (const tensor of madeBy(segment).filter((one) => isGatheredInParts(scope, segment, one)))
    for (const position of findMomentAccumulators(scope, segment, pass, tensor)) {
      const buffer = moments.get(position)!
      if (graph.nodes[position]!.overlaps) {
        addSumsOfRanks(scope, buffer)
        continue
      }
      const parts = graph.shard!.count
      const source = arenaOperand(gatherParts(builder, buffer, parts))
      builder.launch<'mergeMoments'>(
        { kind: 'mergeMoments', rows: buffer.bytes / momentBytes, parts },
        { source, moments: arenaOperand(buffer) }
      )
    }
}

/**
 * After a segment's forward, in which each rank has pooled its rows: the largest elements of all
 * rows, with their places, become all ranks' maxima, and the pool's output.
 */
export const mergeMaxima = ({ builder, graph, moments }: ModelScope, position: number, output: TileTensor): void => {
  const maxima = moments.get(position)!
  const parts = graph.shard!.count
  const source = arenaOperand(gatherParts(builder, maxima, parts))
  builder.launch<'mergeMaxima'>(
    { kind: 'mergeMaxima', rows: maxima.bytes / maximumBytes, parts },
    { source, maxima: arenaOperand(maxima), destination: output.address }
  )
}

/**
 * The positions of pools whose maxima ranks merge in a segment, each of its part; what a segment
 * reads itself is of whole images.
 */
export const listTensorsPooledInParts = ({ graph }: Pick<ModelScope, 'graph'>, segment: Segment): readonly number[] =>
  findShard(graph, segment) === undefined
    ? []
    : boundaryTensors(graph, segment)
        .outputs.map((tensor) => tensor - 1)
        .filter((position) => graph.nodes[position]!.accumulatesMaxima)
