import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { checkPlan, layerText, type Model, type Plan } from '../dsl'
import type { Given } from './check-segments'
import { decodeAs } from './decode'
import { inputError, type StagingError } from './error'
import { buildGraph, graphHash } from './graph'
import { residenceOfTexts, residenceTexts } from './moments'
import type { Objective, ParameterGroup, Training } from './objective'
import { memoryPlan, statically } from './plan'
import type { Staged } from './stage'

const Count = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 0, 'a whole number from 0 upwards')
const Flag = new t.Type<boolean>('true or false', t.boolean.is, t.boolean.validate, t.identity)
const Reorder = t.keyof({ once: null, 'each-tile': null }, "'once' or 'each-tile'")
const Bytes = new t.Type<number | null>(
  'a whole number of bytes or null',
  (value): value is number | null => value === null || Count.is(value),
  (value, context) => (value === null || Count.is(value) ? t.success(value) : t.failure(value, context)),
  t.identity
)
const Segment = t.intersection([
  t.type({
    from: Count,
    to: Count,
    checkpoint: t.string,
    grid: t.type({ B: t.number, H: t.number, W: t.number }),
    recompute: Flag,
    reorder: Reorder
  }),
  t.partial({
    winograd: t.array(t.string),
    workspace: Count,
    loadsAhead: t.literal(true),
    streams: t.array(t.string),
    repeats: t.literal(true)
  })
])
const HostStay = t.type({ tensor: t.string, swapOut: t.string, freed: t.string, swapIn: t.string })
const Decided = t.type({
  model: t.string,
  input: t.array(t.number),
  layers: t.array(t.string),
  order: t.array(t.number),
  strategy: t.string,
  device: t.type({ name: t.string, precision: t.string, threads: Count }),
  objective: t.string,
  graph: t.string,
  budget: Bytes,
  peak: Count,
  segments: t.array(Segment),
  predicted: t.record(t.string, t.number)
})
const Placement = t.type({ allocator: t.literal('virtual', "'virtual'"), chunkBytes: Count })
const PlanFile = t.intersection([Decided, t.partial({ residence: t.array(HostStay), placement: Placement })])

/** A plan from what JSON or a module holds, or a sentence with the place that is wrong. */
export const decodePlanFile: (value: unknown) => E.Either<string, Plan> = decodeAs('plan', PlanFile)

/** What is frozen, by prefix, and what of it is not. */
const frozenText = (groups: readonly ParameterGroup[]): readonly string[] =>
  groups
    .filter(({ frozen }) => frozen === true)
    .map(({ prefix }) => {
      const kept = groups.filter((group) => group.frozen !== true && group.prefix.startsWith(prefix === '' ? '' : `${prefix}.`))
      const but = kept.length === 0 ? '' : ` but ${kept.map((group) => group.prefix).join(' ')}`
      return `${prefix === '' ? 'all' : prefix} frozen${but}`
    })

const trainingText = ({ optimizer, accumulate = 1, clipNorm, groups = [], rowWeights, evaluate }: Training): string =>
  [
    `train with ${optimizer.kind}${optimizer.kind === 'sgd' && optimizer.momentum === 0 ? ' without momentum' : ''}`,
    ...(accumulate === 1 ? [] : [`${accumulate} micro-batches accumulated`]),
    ...(clipNorm === undefined ? [] : [`gradients clipped to norm ${clipNorm}`]),
    ...frozenText(groups),
    ...(rowWeights === undefined ? [] : ['rows weighted']),
    ...(evaluate === undefined ? [] : ['validated'])
  ].join(', ')

/** What a step does, in words: all of it that changes bytes. */
export const objectiveText = (objective: Objective): string => (objective.kind === 'train' ? trainingText(objective) : objective.kind)

const rounded = (value: number): number => Number(value.toPrecision(6))

/** A staged plan as a file holds it. */
export const planFileOf = ({ written, graph, plan, program }: Staged, objective: Objective): Plan => {
  const { peakDeviceBytes, peakHostBytes, plainPeakBytes, ...estimates } = memoryPlan.encode(plan).predicted
  const nameAt = (position: number): string => graph.nodes[plan.order[position]!]!.name
  return {
    model: plan.model,
    input: plan.input,
    layers: written.nodes.map(({ op, args }) => layerText(op, args)),
    order: plan.order,
    strategy: plan.strategy,
    device: { name: plan.device, precision: program.precision, threads: program.threads },
    objective: objectiveText(objective),
    graph: plan.graphHash,
    budget: plan.budget,
    peak: peakDeviceBytes,
    segments: plan.segments.map(({ from, to, winograd, streams, ...decisions }) => ({
      from,
      to,
      checkpoint: nameAt(to - 1),
      ...decisions,
      ...(winograd && { winograd: winograd.map(nameAt) }),
      ...(streams && { streams: streams.map(nameAt) })
    })),
    ...(plan.residence.length > 0 && { residence: residenceTexts(graph, plan.order, plan.residence) }),
    ...(plan.placement.allocator === 'virtual' && { placement: plan.placement }),
    predicted: {
      peakHostBytes,
      plainPeakBytes,
      ...Object.fromEntries(Object.entries(estimates).map(([key, value]) => [key, rounded(value)]))
    }
  }
}

/**
 * The decisions of a plan for this model and its own input, where it has one. Fails with the sentence of what differs: a layer, the
 * input, or, where people can see no difference, the names that the graph's hash knows.
 */
export const checkPlanFile = (model: Model, plan: Plan): E.Either<StagingError, Given> =>
  pipe(
    buildGraph(model, plan.input.length === 4 ? plan.input : (model.input ?? plan.input)),
    E.chain((graph) =>
      pipe(
        checkPlan(graph.nodes, model.input, plan),
        E.mapLeft((mistake) => inputError(`${mistake}.`)),
        E.filterOrElse(
          () => graphHash(graph) === plan.graph,
          () => inputError(`the layers of ${model.name} have other names than when the plan was made; plan it anew.`)
        ),
        E.map(({ order, segments, residence = [], placement = statically, strategy }) => {
          const positionOf = (name: string): number => order.findIndex((place) => graph.nodes[place]!.name === name)
          return {
            order,
            segments: segments.map(({ from, to, grid, recompute, reorder, winograd, workspace, loadsAhead, streams, repeats }) => ({
              ...{ from, to, grid, recompute, reorder },
              ...(workspace !== undefined && { workspace }),
              ...(loadsAhead && { loadsAhead }),
              ...(repeats && { repeats }),
              ...(winograd && { winograd: winograd.map(positionOf).sort((a, b) => a - b) }),
              ...(streams && { streams: streams.map(positionOf).sort((a, b) => a - b) })
            })),
            residence: residenceOfTexts(graph, order, residence),
            placement,
            strategy
          }
        })
      )
    )
  )

/** How a plan is written: as JSON, or as a TypeScript module that the compiler checks against its model. */
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
      key === 'layers' || key === 'segments' || key === 'residence'
        ? listed(value as readonly unknown[], key === 'layers' ? names : [])
        : literal(value, json)
    return `  ${json ? JSON.stringify(key) : key}: ${written}`
  })
  const body = `{\n${fields.join(',\n')}\n}`
  if (form.kind === 'json') return `${body}\n`
  const note = '// Made by `tilefold plan`. Edit it: the compiler, and every command that takes it, say what does not fit.'
  return [note, ...form.imports, '', `export default planFor(${form.model})(${body})`, ''].join('\n')
}
