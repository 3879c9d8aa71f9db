import * as E from 'fp-ts/Either'
import { layerText } from '../flat/layer-text'
import { canCommute, takesMaxima } from '../ops'
import { firstSentence } from './first-sentence'
import type { Plan, PlanSwapInterval } from './plan'
import type { PlanFile } from './plan-file'
import type { PlannedLayer } from './planned-layer'
import { validateSegments } from './segment-rules'
import { showShape, type Shape } from '../shapes/shape'

/**
 * Returns one sentence on why a plan's layers are not those of the model, or undefined where all is
 * right.
 */
const validateLayers = (layers: readonly PlannedLayer[], texts: readonly string[]): string | undefined => {
  const other = layers.slice(0, texts.length).findIndex(({ op, args }, place) => layerText(op, args) !== texts[place])
  if (other !== -1) {
    const { name, op, args } = layers[other]!
    return `layer ${other}: the model has ${layerText(op, args)} (${name}), the plan ${texts[other]}`
  }
  return layers.length === texts.length ? undefined : `layers: the model has ${layers.length}, its loss included, the plan ${texts.length}`
}

/**
 * Returns one sentence on why an input [B, C, H, W] is none, or not the model's own, or undefined
 * where all is right.
 */
const validateInput = (own: Shape | undefined, input: Shape): string | undefined => {
  if (input.length !== 4) return `input: takes images BxCxHxW, not ${showShape(input)}`
  if (!input.every((extent) => Number.isInteger(extent) && extent > 0)) return `input: ${showShape(input)} must be whole numbers above 0`
  return own === undefined || own.join() === input.join()
    ? undefined
    : `input: the model takes ${showShape(own)}, the plan is for ${showShape(input)}`
}

/**
 * Returns one sentence on why a plan that needs `peak` bytes does not fit `budget`, or undefined
 * where all is right.
 */
const validatePeak = (peak: number, budget: number | null): string | undefined =>
  budget !== null && peak > budget ? `the peak of ${peak} bytes is over the budget of ${budget}` : undefined

/** Tells whether what the layer at `place` makes is read by the layer after it alone. */
const isReadNextOnly = (layers: readonly PlannedLayer[], place: number): boolean =>
  layers.every(({ inputs }, reader) => inputs.includes(place + 1) === (reader === place + 1))

/**
 * Returns one sentence on why `order` is not the positions of all layers, each in its place or a
 * max pool before the rectifier that it follows, whose output nothing else reads; undefined where
 * it is.
 */
export const validateOrder = (layers: readonly PlannedLayer[], order: readonly number[]): string | undefined => {
  if (order.length !== layers.length) return `order: the model has ${layers.length} layers, its loss included, the order ${order.length}`
  for (let place = 0; place < order.length; place++) {
    if (order[place] === place) continue
    const isCommuted = order[place] === place + 1 && order[place + 1] === place
    if (!isCommuted || !canCommute(layers[place]!.op, layers[place + 1]!.op) || !isReadNextOnly(layers, place))
      return `order: ${order[place]} cannot run at position ${place}; only a max pool may run before the rectifier that it follows`
    place++
  }
  return undefined
}

/**
 * Returns why tensors cannot wait on the host, as far as names tell; when they are made and read,
 * only lowering knows.
 */
const validateSwapSchedule = (layers: readonly PlannedLayer[], swapSchedule: readonly PlanSwapInterval[]): string | undefined => {
  const tensors = new Set(
    layers.flatMap(({ name, op }) => [`output of ${name}`, `input of ${name}`, ...(takesMaxima(op) ? [`indices of ${name}`] : [])])
  )
  const timepoints = new Set(layers.flatMap(({ name }) => [`forward ${name}`, `backward ${name}`]))
  return firstSentence(swapSchedule, ({ tensor, swapOut, freed, swapIn }) =>
    tensors.has(tensor)
      ? firstSentence([swapOut, freed, swapIn], (timepoint) =>
          timepoints.has(timepoint) ? undefined : `swapSchedule: there is no timepoint ${timepoint}`
        )
      : `swapSchedule: there is no tensor ${tensor}`
  )
}

/**
 * Returns one sentence on why a plan that leaves a tensor on the host cannot need no bytes there,
 * or undefined where all is right.
 */
const validateHostBytes = ({ swapSchedule = [], segments, predicted }: PlanFile): string | undefined => {
  const [tensor] = [
    ...swapSchedule.map(({ tensor }) => tensor),
    ...segments.flatMap(({ hostTensors = [] }) => hostTensors.map((name) => `output of ${name}`))
  ]
  return tensor === undefined || predicted.peakHostBytes !== 0
    ? undefined
    : `predicted: peakHostBytes cannot be 0 where the ${tensor} waits on the host`
}

const minPageBytes = 4096

const validatePlacement = ({ placement }: Plan): string | undefined =>
  placement === undefined || (placement.pageBytes > 0 && placement.pageBytes % minPageBytes === 0)
    ? undefined
    : `placement: pages of ${placement.pageBytes} bytes are no multiple of ${minPageBytes}`

/** The layers as they run; what takes another's place by commuting reads what that one read. */
const inPlanOrder = (layers: readonly PlannedLayer[], order: readonly number[]): readonly PlannedLayer[] =>
  order.map((position, place) => ({ ...layers[position]!, inputs: layers[place]!.inputs }))

/**
 * Checks a plan against a model's layers and its own input, where it has one: the sentences that
 * planFor's types give, the first of them. For JSON, for JavaScript, and for what types are too
 * wide to tell.
 */
export const checkPlan = <P extends PlanFile>(layers: readonly PlannedLayer[], own: Shape | undefined, plan: P): E.Either<string, P> => {
  const mistake =
    validateLayers(layers, plan.layers) ??
    validateInput(own, plan.input) ??
    validatePeak(plan.peak, plan.budget) ??
    validateOrder(layers, plan.order) ??
    validateSegments(inPlanOrder(layers, plan.order), plan.segments) ??
    validateSwapSchedule(layers, plan.swapSchedule ?? []) ??
    validateHostBytes(plan) ??
    validatePlacement(plan)
  return mistake === undefined ? E.right(plan) : E.left(mistake)
}
