import { findShard } from '../../graph/shard'
import type { Segment } from '../../plans/plan'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { trainableTensors } from '../scope/parameters'
import type { ModelScope } from '../scope/scope'

/** Parameters of segments that ranks do not share: each rank computes their whole gradients. */
export const listReplicated = ({ graph, parameters }: ModelScope, segments: readonly Segment[]): readonly ParameterTensor[] =>
  segments
    .filter((segment) => findShard(graph, segment) === undefined)
    .flatMap(({ from, to }) => parameters.slice(from, to).flatMap(trainableTensors))
