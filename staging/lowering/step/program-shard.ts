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
import { labelBytes } from '../scope/step-io'
import { listTensorsGatheredInParts, listTensorsPooledInParts } from '../segment/merge-statistics'
import { toRanges } from '../scope/copies'
import { listReplicated } from './replicated'

/** What a rank takes of a target where an op of a segment is made; undefined where it takes all. */
const targetShare = ({ graph, parameterBytes }: ModelScope, segment: Segment, position: number): TensorShare | undefined => {
  const loss = graph.nodes.at(-1)!
  const shard = findShard(graph, segment)
  if (shard === undefined) return undefined
  const [images, , rows, width] = loss.input
  const own = toRanges(ownedPart(graph, segment, shard, position))
  const rowBytes = width * (hasTarget(loss, 'values') ? parameterBytes : labelBytes)
  return { kind: 'part', held: { images: [0, images], rows: [0, rows] }, rowBytes, own, of: { images, rows }, isSent: false }
}

/**
 * What a rank compares of the target, and what it takes into sums of overlaps, if by another
 * segment.
 */
const targetShares = (scope: ModelScope, segments: readonly Segment[]): Pick<ProgramShard, 'target' | 'summedTarget'> => {
  const { nodes } = scope.graph
  const loss = nodes.at(-1)!
  const target = targetShare(scope, segments.at(-1)!, nodes.length - 1)
  const made = loss.inputs[0]! - 1
  const summing = loss.overlaps ? segments.slice(0, -1).find(({ from, to }) => from <= made && made < to) : undefined
  const summedTarget: TensorShare | undefined = summing && (targetShare(scope, summing, made) ?? { kind: 'alike' })
  return { ...(target && { target }), ...(summedTarget && { summedTarget }) }
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
  return {
    ...graph.shard!,
    groups: reducingRanks(graph.objective)! / graph.shard!.count,
    ...targetShares(scope, segments),
    replicated: listReplicated(scope, segments).map(({ name }) => name),
    merged: [...momentsMerged(scope, segments), ...sumsMerged(scope, segments)].map(bufferText)
  }
}
