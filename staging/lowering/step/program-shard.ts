import { hasTarget } from '../../graph/graph'
import { reducingRanks } from '../../graph/objective'
import { findShard } from '../../graph/shard'
import { ownedPart } from '../../graph/shared-tensor'
import type { Segment } from '../../plans/plan'
import type { ProgramShard } from '../../program/program-shard'
import type { TensorShare } from '../../program/program-buffer'
import { accumulatesMoments } from '../../graph/statistics'
import { bufferText, tileIdentity, type BufferIdentity } from '../ir/buffer-identity'
import type { ModelScope } from '../scope/scope'
import { listTensorsGatheredInParts, listTensorsPooledInParts } from '../segment/merge-statistics'
import { toRanges } from '../scope/copies'
import { listReplicated } from './replicated'

const labelBytes = 4

/** What a rank compares of a target; undefined where it compares all of it. */
const targetShare = ({ graph, parameterBytes }: ModelScope, segments: readonly Segment[]): TensorShare | undefined => {
  const last = segments.at(-1)!
  const loss = graph.nodes.at(-1)!
  const shard = findShard(graph, last)
  if (shard === undefined) return undefined
  const [images, , rows, width] = loss.input
  const own = toRanges(ownedPart(graph, last, shard, graph.nodes.length - 1))
  const rowBytes = width * (hasTarget(loss, 'values') ? parameterBytes : labelBytes)
  return { kind: 'part', held: { images: [0, images], rows: [0, rows] }, rowBytes, own, of: { images, rows }, isSent: false }
}

/** The moments and maxima that ranks gather, each of its part. */
const momentsMerged = (scope: ModelScope, segments: readonly Segment[]): readonly BufferIdentity[] =>
  segments
    .flatMap((segment) => [...listTensorsGatheredInParts(scope, segment), ...listTensorsPooledInParts(scope, segment)])
    .map((position) => scope.moments.get(position)!.identity)

/** The sums for gradients of normalisations' inputs of which each rank makes its part. */
const sumsMerged = ({ graph, requiresGrad }: ModelScope, segments: readonly Segment[]): readonly BufferIdentity[] =>
  segments
    .filter((segment) => findShard(graph, segment) !== undefined)
    .flatMap(({ from, to }) => graph.nodes.slice(from, to))
    .filter((node) => accumulatesMoments(node) && requiresGrad[node.inputs[0]!]!)
    .map(({ name }) => tileIdentity('sums', name))

/** What the verifier is told of the rank whose Program is lowered. */
export const programShard = (scope: ModelScope, segments: readonly Segment[]): ProgramShard => {
  const { graph } = scope
  const target = targetShare(scope, segments)
  return {
    ...graph.shard!,
    groups: reducingRanks(graph.objective)! / graph.shard!.count,
    ...(target && { target }),
    replicated: listReplicated(scope, segments).map(({ name }) => name),
    merged: [...momentsMerged(scope, segments), ...sumsMerged(scope, segments)].map(bufferText)
  }
}
