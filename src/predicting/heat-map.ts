import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Model } from '../../dsl'
import type { Graph, Source } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { centreCrop } from '../images/crop-placement'
import { type Planned, buildSetupGraph } from '../plans/plan-network'
import type { RunnableSetup } from '../plans/setup'
import type { Watching } from '../plans/watching'
import { type ClassNames, findClassIndex, resolveClassNames } from '../results/class-names'
import type { HeatMapKind } from '../results/formats'
import type { HeatMap } from '../results/overlay'
import { type RunningNetwork, withAbort, withNetwork } from '../running/running-network'
import { noUpdate } from '../running/step-parameters'
import type { WeightSource } from '../weights/weights'
import { activationModel, scoreModel, weightsOfClass } from './class-models'
import { type Input, windowHostBytes } from './input'
import { evaluation, planSetup, setupFor } from './plan-images'
import { type ReadRows, fillNormalised } from './normalised-input'

/** Whose heat map is asked for. */
export interface HeatMapRequest {
  readonly kind: HeatMapKind
  readonly setup: RunnableSetup
  readonly weights: WeightSource
  /** The class, by its name or number. */
  readonly of: string
  readonly names?: ClassNames | undefined
  readonly input: Input
  readonly readRows: ReadRows
  /** The source of the means and deviations that normalise the image. */
  readonly normalisation: Source
  readonly watching: Watching
  readonly onPlan?: ((planned: Planned) => void) | undefined
}

/** A heat map with the class that it is of, and the milliseconds and bytes that it took. */
export interface ComputedHeatMap extends HeatMap {
  readonly classIndex: number
  readonly strategy: string
  readonly milliseconds: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  readonly windowBytes?: number
}

const mostSampled = 1_000_000

/**
 * The value that is drawn brightest: of cam the highest, of saliency, of which single pixels stand
 * out, one that 99 of 100 are below. Above 0, so that where nothing speaks for the class nothing is
 * coloured.
 */
export const brightestValue = ({ values }: HeatMap, kind: HeatMapKind): number => {
  const share = kind === 'cam' ? 1 : 0.99
  const stride = kind === 'cam' ? 1 : Math.max(1, Math.floor(values.length / mostSampled))
  const sampled = Float64Array.from({ length: Math.ceil(values.length / stride) }, (_, index) => values[index * stride]!).sort()
  return Math.max(sampled[Math.floor(share * (sampled.length - 1))]!, Number.MIN_VALUE)
}

/** The last feature map weighted by the head, at its own extent. */
const computeActivation = (
  { input, watching: { signal } }: HeatMapRequest,
  planned: Planned,
  network: RunningNetwork
): Outcome<readonly [HeatMap, number]> =>
  pipe(
    network.step(noUpdate, [{ ...input, ...centreCrop(input)(input) }]),
    (step) => withAbort(signal, network, step),
    TE.map((milliseconds) => {
      const [, , height, width] = planned.staged.graph.nodes.at(-1)!.input
      return [{ height, width, values: network.io.view('scores') }, milliseconds]
    })
  )

/** No score is near it, so that the difference, by which gradients are multiplied, is not 0. */
const target = -1000

/** The largest of a pixel's derivatives, in place of the first channel's. */
const largestOfChannels = (gradient: Float32Array | Float64Array, pixels: number, factor: number): Float32Array | Float64Array => {
  for (let index = 0; index < pixels; index += 1) {
    let most = 0
    for (let at = index; at < gradient.length; at += pixels) most = Math.max(most, Math.abs(gradient[at]!))
    gradient[index] = most / factor
  }
  return gradient.subarray(0, pixels)
}

/** The derivative of the score by each pixel, from (score − target)². */
const computeSaliency = (
  { input: { height, width }, readRows, normalisation, watching: { signal } }: HeatMapRequest,
  network: RunningNetwork
): Outcome<readonly [HeatMap, number]> =>
  pipe(
    fillNormalised({ height, width }, readRows, normalisation, network.io.view('input')),
    TE.chain(() => {
      network.io.view('target')[0] = target
      return withAbort(signal, network, network.step(noUpdate, []))
    }),
    TE.map((milliseconds) => {
      const difference = Math.sqrt(network.io.view('loss')[0]!)
      const gradient = network.io.view('grad.input') as Float32Array | Float64Array
      return [{ height, width, values: largestOfChannels(gradient, height * width, 2 * difference) }, milliseconds]
    })
  )

const float: Source = { kind: 'float' }

/** Plans and runs the model of one class. */
const runOfClass = (request: HeatMapRequest, scoring: Graph, classIndex: number): Outcome<ComputedHeatMap> => {
  const { kind, setup, weights, input, normalisation, watching, onPlan } = request
  const isActivation = kind === 'cam'
  return pipe(
    TE.fromEither((isActivation ? activationModel : scoreModel)(setup.model)),
    TE.chain((model) =>
      isActivation
        ? planSetup({ ...setupFor(setup, input), model }, evaluation, normalisation, watching)
        : planSetup({ ...setupFor(setup, input), model }, { kind: 'gradients' }, float, watching)
    ),
    TE.chain((planned) => {
      onPlan?.(planned)
      const state = weightsOfClass(weights, scoring, planned.staged.graph, classIndex)
      return withNetwork({ planned, device: setup.device, state, seed: 0 }, (network) =>
        pipe(
          isActivation ? computeActivation(request, planned, network) : computeSaliency(request, network),
          TE.map(([map, milliseconds]): ComputedHeatMap => {
            const held = isActivation ? windowHostBytes(input) : undefined
            return {
              ...map,
              classIndex,
              strategy: planned.staged.strategy,
              milliseconds,
              peakDeviceBytes: network.measuredPeakBytes(),
              predictedPeakBytes: planned.staged.predicted.peakDeviceBytes,
              ...(held === undefined ? {} : { windowBytes: held })
            }
          })
        )
      )
    })
  )
}

/** Fails where a model has no heat maps of that kind. */
export const checkHeatMapModel = (kind: HeatMapKind, model: Model): E.Either<Failure, unknown> =>
  kind === 'cam' ? activationModel(model) : scoreModel(model)

const areFinite = ({ values }: HeatMap): boolean => {
  for (let index = 0; index < values.length; index += 1) if (!Number.isFinite(values[index])) return false
  return true
}

/**
 * The heat map of one class over an image, in tiles within the budget: `cam`, the class activation
 * map, one value for each place of the last feature map; or `saliency`, for each pixel the largest
 * derivative of the score by its normalised channels (Simonyan 2014, section 3.1).
 */
export const computeHeatMap = (request: HeatMapRequest): Outcome<ComputedHeatMap> => {
  const { setup, input, normalisation, of, names } = request
  if (setup.plan !== undefined) return TE.left(inputFailure('--heatmap runs another model than the plan is of: leave out --plan'))
  return pipe(
    TE.fromEither(buildSetupGraph(setupFor(setup, input), evaluation, normalisation)),
    TE.map(({ graph }) => graph),
    TE.bindTo('scoring'),
    TE.bind('classIndex', ({ scoring }) =>
      TE.fromEither(
        pipe(
          resolveClassNames(names, scoring.nodes.at(-1)!.input[1]),
          E.chain((all) => findClassIndex('--class', of, all))
        )
      )
    ),
    TE.chain(({ scoring, classIndex }) => runOfClass(request, scoring, classIndex)),
    TE.filterOrElse(areFinite, (): Failure => ({
      code: 'loss',
      message: 'the heat map has values that are not finite: look at the weights, or compute in float32'
    }))
  )
}
