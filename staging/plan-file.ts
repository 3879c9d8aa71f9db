import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { PlanFile, Shape } from '../dsl'
import { checkPlan as checkNamedPlan, layerText, type PlanShards } from '../dsl/internal'
import { inputError, ofPlan, type StagingError } from './error'
import type { Graph } from './graph/graph'
import { inOrder } from './graph/order'
import { findShard, type SegmentShard } from './graph/shard'
import { earlierGraphHash, graphHash } from './ops/graph-hash'
import { mapLayers } from './plans/segment-layers'
import { parseSwapSchedule, swapScheduleTexts } from './plans/timepoints'
import { objectiveText } from './graph/objective-text'
import type { Plan } from './plans/plan'
import type { Staged } from './stage'

/** How ranks share a segment; 1 along both where every rank runs all of it. */
const shardsOf = (shard: SegmentShard | undefined): PlanShards => ({ B: shard?.parts.B.count ?? 1, H: shard?.parts.H.count ?? 1 })

const roundFigure = (value: number): number => Number(value.toPrecision(6))

/** A staged plan as a file holds it. */
export const toPlanFile = ({ sourceGraph, graph, strategy, device, budget, plan, predicted, program }: Staged): PlanFile => {
  const { peakDeviceBytes, peakHostBytes, plainPeakBytes, ...estimates } = predicted
  const { order, segments, swapSchedule = [], placement, overlapReduction, edgeTilesFirst, offloadOptimizer, offloadWeights } = plan
  const running = inOrder(graph, order)
  const nameAt = (position: number): string => graph.nodes[order[position]!]!.name
  return {
    model: graph.model,
    input: graph.input,
    layers: sourceGraph.nodes.map(({ op, args }) => layerText(op, args)),
    order,
    strategy,
    device: { name: device, precision: program.precision, threads: program.threads },
    objective: objectiveText(graph.objective),
    graph: graphHash(sourceGraph),
    budget: budget ?? null,
    peak: peakDeviceBytes,
    segments: segments.map(({ from, to, winograd, slicedWinograd, normaliseOnLoad, hostTensors, shards, ...decisions }) => ({
      from,
      to,
      checkpoint: nameAt(to - 1),
      ...decisions,
      ...(running.shard && { shards: shardsOf(findShard(running, { from, to, ...(shards && { shards }) })) }),
      ...mapLayers({ winograd, slicedWinograd, normaliseOnLoad, hostTensors }, (positions) => positions.map(nameAt))
    })),
    ...(swapSchedule.length > 0 && { swapSchedule: swapScheduleTexts(graph, order, swapSchedule) }),
    ...(placement && { placement }),
    ...(overlapReduction && { overlapReduction }),
    ...(edgeTilesFirst && { edgeTilesFirst }),
    ...(offloadOptimizer && { offloadOptimizer }),
    ...(offloadWeights !== undefined && { offloadWeights }),
    predicted: {
      peakHostBytes,
      plainPeakBytes,
      ...Object.fromEntries(Object.entries(estimates).map(([key, value]) => [key, roundFigure(value)]))
    }
  }
}

/** What to do about a plan that is of this model, and of another input than its own. */
const inputRemedy = (graph: Graph, own: Shape | undefined, file: PlanFile): string =>
  own === undefined || own.join() === file.input.join() || E.isLeft(checkNamedPlan(graph.nodes, undefined, file))
    ? ''
    : `; plan it with --input ${own.join('x')}`

/**
 * The plan that a file has for a graph; `own` is the input [B, C, H, W] that its model asks for,
 * where it does. Fails with the sentence of what differs: the model, a layer, the input, or, where
 * people can see no difference, the names that the graph's hash knows.
 */
export const checkPlanFile = (graph: Graph, own: Shape | undefined, file: PlanFile): E.Either<StagingError, Plan> =>
  pipe(
    file.model === graph.model
      ? checkNamedPlan(graph.nodes, own, file)
      : E.left(`model: the model is ${graph.model}, the plan for ${file.model}`),
    E.mapLeft((mistake) => inputError(`${mistake}${inputRemedy(graph, own, file)}.`)),
    E.filterOrElse(
      () => graphHash(graph) === file.graph || earlierGraphHash(graph) === file.graph,
      () => inputError(`the layers of ${graph.model} have other names than when the plan was made; plan it anew.`)
    ),
    E.map(({ order, segments, swapSchedule, placement, overlapReduction, edgeTilesFirst, offloadOptimizer, offloadWeights }) => {
      const positionOf = (name: string): number => order.findIndex((place) => graph.nodes[place]!.name === name)
      const positionsOf = (names: readonly string[]): readonly number[] => names.map(positionOf).sort((a, b) => a - b)
      return {
        order,
        segments: segments.map(({ from, to, grid, recompute, reorder, workspace, prefetch, rematerialize, shards, ...layers }) => ({
          ...{ from, to, grid, recompute, reorder },
          ...(workspace !== undefined && { workspace }),
          ...(prefetch && { prefetch }),
          ...(rematerialize && { rematerialize }),
          ...(shards && { shards }),
          ...mapLayers(layers, positionsOf)
        })),
        ...(swapSchedule && { swapSchedule: parseSwapSchedule(graph, order, swapSchedule) }),
        ...(placement && { placement }),
        ...(overlapReduction && { overlapReduction }),
        ...(edgeTilesFirst && { edgeTilesFirst }),
        ...(offloadOptimizer && { offloadOptimizer }),
        ...(offloadWeights !== undefined && { offloadWeights })
      }
    }),
    E.mapLeft(ofPlan)
  )

/**
 * How a plan is written: as JSON, or as a TypeScript module that the compiler checks against its
 * model.
 */
export type PlanFileForm =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'typescript'
      /** Whole lines: planFor, and what `model` names. */
      readonly imports: readonly string[]
      /** An expression. */
      readonly model: string
      /** Names of the layers, for people. */
      readonly names: readonly string[]
    }

const quote = (text: string): string => `'${JSON.stringify(text).slice(1, -1).replace(/\\"/g, '"').replace(/'/g, "\\'")}'`

/** A value on one line. */
const literal = (value: unknown, json: boolean): string => {
  if (typeof value === 'string') return json ? JSON.stringify(value) : quote(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map((one) => literal(one, json)).join(', ')}]`
  const fields = Object.entries(value).map(([key, one]) => `${json ? JSON.stringify(key) : key}: ${literal(one, json)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

/** The text of a plan file: a field a line, a layer a line, a segment a line. */
export const planFileText = (plan: PlanFile, form: PlanFileForm): string => {
  const json = form.kind === 'json'
  const listed = (items: readonly unknown[], remarks: readonly string[]): string =>
    `[\n${items.map((item, place) => `    ${literal(item, json)}${place < items.length - 1 ? ',' : ''}${remarks[place] ?? ''}`).join('\n')}\n  ]`
  const names = form.kind === 'json' ? [] : form.names.map((name, place) => ` // ${place} ${name}`)
  const fields = Object.entries(plan).map(([key, value]) => {
    const written =
      key === 'layers' || key === 'segments' || key === 'swapSchedule'
        ? listed(value as readonly unknown[], key === 'layers' ? names : [])
        : literal(value, json)
    return `  ${json ? JSON.stringify(key) : key}: ${written}`
  })
  const body = `{\n${fields.join(',\n')}\n}`
  if (form.kind === 'json') return `${body}\n`
  const note = '// Made by `tilefold plan`. Edit it: the compiler, and every command that takes it, say what does not fit.'
  return [note, ...form.imports, '', `export default planFor(${form.model})(${body})`, ''].join('\n')
}
