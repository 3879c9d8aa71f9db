import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { checkPlan, layerText, type Model, type Plan } from '../dsl'
import type { PlanOverride } from './check-plan'
import { inputError, type StagingError } from './error'
import { buildGraph } from './ops/build-graph'
import { graphHash } from './ops/graph-hash'
import { parseSwapSchedule, swapScheduleTexts } from './plans/timepoints'
import type { Objective } from './graph/objective'
import { objectiveText } from './graph/objective-text'
import { memoryPlan, staticPlacement } from './plans/plan'
import type { Staged } from './stage'

const roundFigure = (value: number): number => Number(value.toPrecision(6))

/** A staged plan as a file holds it. */
export const toPlanFile = ({ sourceGraph, graph, plan, program }: Staged, objective: Objective): Plan => {
  const { peakDeviceBytes, peakHostBytes, plainPeakBytes, ...estimates } = memoryPlan.encode(plan).predicted
  const nameAt = (position: number): string => graph.nodes[plan.order[position]!]!.name
  return {
    model: plan.model,
    input: plan.input,
    layers: sourceGraph.nodes.map(({ op, args }) => layerText(op, args)),
    order: plan.order,
    strategy: plan.strategy,
    device: { name: plan.device, precision: program.precision, threads: program.threads },
    objective: objectiveText(objective),
    graph: plan.graphHash,
    budget: plan.budget,
    peak: peakDeviceBytes,
    segments: plan.segments.map(({ from, to, winograd, hostTensors, ...decisions }) => ({
      from,
      to,
      checkpoint: nameAt(to - 1),
      ...decisions,
      ...(winograd && { winograd: winograd.map(nameAt) }),
      ...(hostTensors && { hostTensors: hostTensors.map(nameAt) })
    })),
    ...(plan.swapSchedule.length > 0 && { swapSchedule: swapScheduleTexts(graph, plan.order, plan.swapSchedule) }),
    ...(plan.placement.allocator === 'virtual' && { placement: plan.placement }),
    predicted: {
      peakHostBytes,
      plainPeakBytes,
      ...Object.fromEntries(Object.entries(estimates).map(([key, value]) => [key, roundFigure(value)]))
    }
  }
}

/**
 * The decisions of a plan for this model and its own input, where it has one. Fails with the
 * sentence of what differs: the model, a layer, the input, or, where people can see no difference,
 * the names that the graph's hash knows.
 */
export const checkPlanFile = (model: Model, plan: Plan): E.Either<StagingError, PlanOverride> =>
  pipe(
    buildGraph(model, plan.input.length === 4 ? plan.input : (model.input ?? plan.input)),
    E.chain((graph) =>
      pipe(
        plan.model === model.name
          ? checkPlan(graph.nodes, model.input, plan)
          : E.left(`model: the model is ${model.name}, the plan for ${plan.model}`),
        E.mapLeft((mistake) => inputError(`${mistake}.`)),
        E.filterOrElse(
          () => graphHash(graph) === plan.graph,
          () => inputError(`the layers of ${model.name} have other names than when the plan was made; plan it anew.`)
        ),
        E.map(({ order, segments, swapSchedule = [], placement = staticPlacement, strategy }) => {
          const positionOf = (name: string): number => order.findIndex((place) => graph.nodes[place]!.name === name)
          return {
            order,
            segments: segments.map(({ from, to, grid, recompute, reorder, winograd, workspace, prefetch, hostTensors, rematerialize }) => ({
              ...{ from, to, grid, recompute, reorder },
              ...(workspace !== undefined && { workspace }),
              ...(prefetch && { prefetch }),
              ...(rematerialize && { rematerialize }),
              ...(winograd && { winograd: winograd.map(positionOf).sort((a, b) => a - b) }),
              ...(hostTensors && { hostTensors: hostTensors.map(positionOf).sort((a, b) => a - b) })
            })),
            swapSchedule: parseSwapSchedule(graph, order, swapSchedule),
            placement,
            strategy
          }
        })
      )
    )
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

const quoted = (text: string): string => `'${JSON.stringify(text).slice(1, -1).replace(/\\"/g, '"').replace(/'/g, "\\'")}'`

/** A value on one line. */
const literal = (value: unknown, json: boolean): string => {
  if (typeof value === 'string') return json ? JSON.stringify(value) : quoted(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map((one) => literal(one, json)).join(', ')}]`
  const fields = Object.entries(value).map(([key, one]) => `${json ? JSON.stringify(key) : key}: ${literal(one, json)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

/** The text of a plan file: a field a line, a layer a line, a segment a line. */
export const planFileText = (plan: Plan, form: PlanFileForm): string => {
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
