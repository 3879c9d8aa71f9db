import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Dataset } from '../../datasets/dataset'
import { isMask } from '../../datasets/labels'
import { type Graph, earlierGraphHash, graphHash } from '../../../staging'
import { earlierName } from '../../../staging/graph/earlier-names'
import { type Planned } from '../../plans/plan-network'
import { deviceChoice } from '../../plans/device'
import { scheduleText } from '../learning-rate'
import type { TrainingRequest } from '../request'
import type { TrainedChannels } from '../../weights/channel-metadata'
import type { Split } from '../validation/validation-split'

/** Choices by the option that makes them, as texts. */
export type ResumeFingerprint = Readonly<Record<string, string>>

const words: Readonly<Record<string, string>> = {
  model: 'the model',
  layers: 'the hash of the layers and the loss',
  classes: 'the list of classes',
  channels: 'what --bands, --mean and --deviation say',
  group: '--param-group'
}

/** A choice as sentences name it. */
export const choiceText = (name: string): string => words[name] ?? `--${name}`

const fieldsText = (fields: object): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(' ')

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

/** Masks are told apart by what they hold: a file may change under its name. */
const labelText = ({ label, weight, tissue }: Dataset['examples'][number]): string => {
  const weighed = `${weight === undefined ? '' : ` of ${weight}`}${tissue === undefined ? '' : ` in ${basename(tissue)}`}`
  if (isMask(label)) return `${basename(label.path)} ${label.counts.join()}${weighed}`
  return typeof label === 'number' ? `${label}${weighed}` : `${JSON.stringify(label)}${weighed}`
}

/** Names and labels in order; folders may move. */
const dataText = ({ examples }: Dataset): string =>
  `${examples.length} images of hash ${shortHash(examples.map((example) => `${basename(example.path)}:${labelText(example)}`).join('\n'))}`

/** Options that are not set have no entry, so that a state stays good when an option is added. */
const withoutAbsent = (choices: Readonly<Record<string, string | undefined>>): ResumeFingerprint =>
  Object.fromEntries(Object.entries(choices).filter((entry): entry is [string, string] => entry[1] !== undefined))

/** How layers are called in a fingerprint. */
interface Naming {
  readonly hash: (graph: Graph) => string
  readonly nameOf: (model: string, name: string) => string
}

/** The names that layers had in earlier versions. */
export const earlierNaming: Naming = { hash: earlierGraphHash, nameOf: earlierName }

/**
 * The choices that a state and the training that goes on from it must have in common: all that
 * numbers depend on, apart from rates.
 */
export const resumeFingerprint = (
  { options, objective, resolution }: TrainingRequest,
  { staged }: Planned,
  { training, validation }: Split,
  channels: TrainedChannels | undefined,
  { hash, nameOf }: Naming = { hash: graphHash, nameOf: (_, name) => name }
): ResumeFingerprint => {
  const { sourceGraph, graph } = staged
  const { accumulate, clipNorm, classWeights, colourJitter, stainJitter } = options
  const freeze = options.freeze?.map((prefix) => nameOf(graph.model, prefix))
  const paramGroup = options.paramGroup?.map((group) => ({ ...group, prefix: nameOf(graph.model, group.prefix) }))
  const list = (values: readonly unknown[] | undefined): string | undefined => (values?.length ? JSON.stringify(values) : undefined)
  return withoutAbsent({
    model: graph.model,
    input: graph.input.join('x'),
    layers: hash(sourceGraph).slice(0, 12),
    optimizer: fieldsText(objective.optimizer),
    seed: `${options.seed}`,
    data: dataText(training),
    classes: training.names && JSON.stringify(training.names),
    validation: validation && dataText(validation),
    accumulate: accumulate === 1 ? undefined : `${accumulate}`,
    'clip-norm': clipNorm === undefined ? undefined : `${clipNorm}`,
    freeze: list(freeze),
    group: list(paramGroup),
    'class-weights': classWeights === undefined ? undefined : `${classWeights}`,
    level: 'level' in resolution && resolution.level > 0 ? `${resolution.level}` : undefined,
    mpp: 'level' in resolution ? undefined : `${resolution.micronsPerPixel}`,
    channels: channels && fieldsText(channels),
    tissue: options.tissue ? 'on' : undefined,
    annotated: options.annotated ? 'on' : undefined,
    balanced: options.balanced ? 'on' : undefined,
    flip: options.flip ? 'on' : undefined,
    rotate: options.rotate ? 'on' : undefined,
    'colour-jitter': colourJitter && fieldsText(colourJitter),
    'stain-jitter': stainJitter && fieldsText(stainJitter)
  })
}

/** The choices that may be made anew for the steps to come. */
export const rateFingerprint = (
  { options: { schedule, warmup, validation, bestBy = 'loss' }, learningRate, setup }: TrainingRequest,
  steps: number
): ResumeFingerprint =>
  withoutAbsent({
    precision: deviceChoice(setup).precision,
    lr: `${learningRate}`,
    schedule: schedule.kind === 'cosine' ? `cosine over ${steps} steps` : scheduleText(schedule),
    warmup: `${warmup}`,
    'best-by': validation === undefined ? undefined : bestBy
  })

/** Classes may be named later, or no more; earlier versions did not keep their names. */
const isUnnamed = (name: string, ...choices: readonly ResumeFingerprint[]): boolean =>
  name === 'classes' && choices.some(({ classes }) => classes === undefined)

/**
 * The name of each choice that differs, with what it was and what it is; `none` where it is not
 * made.
 */
export const fingerprintDifferences = (
  stored: ResumeFingerprint,
  now: ResumeFingerprint
): readonly (readonly [name: string, was: string, is: string])[] =>
  [...new Set([...Object.keys(stored), ...Object.keys(now)])]
    .filter((name) => stored[name] !== now[name] && !isUnnamed(name, stored, now))
    .map((name) => [name, stored[name] ?? 'none', now[name] ?? 'none'])
