import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Model, PlanFile } from '../../dsl'
import { type Graph, type Objective, type Source, hasTarget, objectiveText } from '../../staging'
import { type Failure, type Outcome, clause, inputFailure } from '../failure'
import { type Extent2, extentText } from '../images/resolution'
import { freezeModel } from '../model/model-layers'
import { scoringModel } from '../model/scoring-model'
import { type Planned, buildSetupGraph, planNetwork } from '../plans/plan-network'
import { prepareGraph } from '../plans/prepare-graph'
import type { RunnableSetup } from '../plans/setup'
import type { Watching } from '../plans/watching'
import { checkScoreExtent } from '../running/pixel-loss'
import { type PlannedWindows, fieldsAt, planWindows } from '../running/plan-windows'
import type { Input } from './input'

/** The objective of a prediction: scores, without a backward. */
export const evaluation: Objective = { kind: 'evaluate' }

/**
 * A plan's decisions for a forward pass alone: what a training plan swaps out is for its backward
 * pass.
 */
const planOfForward = ({ swapSchedule: _, ...decisions }: PlanFile): PlanFile => decisions

/**
 * The model by its running statistics, as plans for evaluation know it; a training plan is of the
 * model as it is trained.
 */
const evaluatedModel = ({ model, plan }: RunnableSetup): Model =>
  plan === undefined || plan.objective === objectiveText(evaluation) ? freezeModel(model) : model

/** The setup at an image's extent, its model as it is evaluated. */
export const setupFor = (setup: RunnableSetup, { height, width, channels }: Omit<Input, 'pixels'>): RunnableSetup => ({
  ...setup,
  ...(setup.plan && { plan: planOfForward(setup.plan) }),
  model: evaluatedModel(setup),
  input: [1, channels, height, width]
})

/** Plans a setup, after its kernels were measured where that is asked for. */
export const planSetup = (setup: RunnableSetup, objective: Objective, source: Source, watching: Watching): Outcome<Planned> =>
  pipe(
    prepareGraph(setup, objective, source, watching),
    TE.chainEitherK((built) => planNetwork(built, watching))
  )

/** The plan of one forward pass over an image of such an extent. */
export const planForward = (setup: RunnableSetup, extent: Omit<Input, 'pixels'>, source: Source, watching: Watching): Outcome<Planned> =>
  planSetup(setupFor(setup, extent), evaluation, source, watching)

/**
 * The plan of one forward pass whose output are the scores of pixels, of a model that has a loss
 * over pixels.
 */
export const planScores = (setup: RunnableSetup, extent: Omit<Input, 'pixels'>, source: Source, watching: Watching): Outcome<Planned> => {
  const forward = setupFor(setup, extent)
  return setup.plan === undefined
    ? planSetup({ ...forward, model: scoringModel(forward.model) }, evaluation, source, watching)
    : TE.left(inputFailure('--probabilities runs another model than the plan is of: leave out --plan'))
}

/** The graph of a forward pass over such an image, which says what the model predicts. */
export const forwardGraph = (setup: RunnableSetup, extent: Omit<Input, 'pixels'>, source: Source): E.Either<Failure, Graph> =>
  E.map(({ graph }: { readonly graph: Graph }) => graph)(buildSetupGraph(setupFor(setup, extent), evaluation, source))

/** What predicts images of one extent, and the graph of what the model predicts of them. */
export interface PlannedPrediction {
  readonly windows: PlannedWindows
  readonly graph: Graph
}

/** The graph of a prediction of images of an extent. */
type GraphAt = (extent: Extent2) => E.Either<Failure, Graph>

/** Sides are rounded down to multiples of this at most, to find some that a network keeps. */
const mostStride = 128

/** What is found first of the largest sides that are no larger and multiples of one stride. */
const findWithin = <A>({ height, width }: Extent2, find: (sides: Extent2) => A | undefined): A | undefined => {
  for (let stride = 1; stride <= Math.min(mostStride, height, width); stride += 1) {
    const found = find({ height: height - (height % stride), width: width - (width % stride) })
    if (found !== undefined) return found
  }
  return undefined
}

/** Says of a network that scores pixels, and each of them by the whole image, what it can take. */
const refuseWindows = (graphAt: GraphAt, extent: Extent2, whole: Failure): Failure => {
  const isKept = ({ nodes }: Graph): boolean => hasTarget(nodes.at(-1)!, 'pixel-labels')
  const kept = findWithin(extent, (sides) =>
    pipe(graphAt(sides), E.chainFirst(checkScoreExtent), E.exists(isKept)) ? extentText(sides) : undefined
  )
  return kept === undefined
    ? whole
    : {
        ...whole,
        message: `${clause(whole)}; it reads the whole image for each pixel, so windows would not be exact: give images of sides that it keeps, such as ${kept}`
      }
}

/**
 * Plans the prediction of images of one extent by `planAt`: of an image at once, or, where a
 * network that scores pixels does not keep its sides, by exact windows, as a validation does.
 * Fails as the plan at once does where there are none: where pixels read the whole image, or a
 * given plan is of one extent.
 */
export const planPrediction = (
  planAt: typeof planForward,
  setup: RunnableSetup,
  { channels, ...extent }: Omit<Input, 'pixels'>,
  source: Source,
  watching: Watching
): Outcome<PlannedPrediction> => {
  const graphAt: GraphAt = (at) => forwardGraph(setup, { ...at, channels }, source)
  const planWith =
    (one: RunnableSetup) =>
    (at: Extent2): Outcome<Planned> =>
      planAt(one, { ...at, channels }, source, watching)
  const { measure, ...unmeasured } = setup
  const byWindows = (whole: Failure): Outcome<PlannedPrediction> => {
    if (setup.plan !== undefined) return TE.left(whole)
    const fields = findWithin(extent, (sides) => fieldsAt({ graphAt }, sides))
    if (fields === undefined) return TE.left(refuseWindows(graphAt, extent, whole))
    const refuse = (least: Extent2, reason: Failure): Failure => ({
      ...reason,
      message: `${clause(whole)}; images of ${extentText(least)} cannot be predicted by windows (${clause(reason)})`
    })
    // Only what fits is measured; should it fit by guessed times alone, they decide.
    const measured = (found: PlannedWindows): Outcome<PlannedWindows> =>
      pipe(
        planWith(setup)(found.window),
        TE.map((planned): PlannedWindows => ({ ...found, planned })),
        TE.orElse((failure) => (failure.code === 'budget' ? TE.right(found) : TE.left(failure)))
      )
    return pipe(
      planWindows({ graphAt, planAt: planWith(unmeasured), refuse }, [extent], fields),
      TE.chain((found) => (measure === undefined ? TE.right(found) : measured(found))),
      TE.bindTo('windows'),
      TE.bind('graph', ({ windows }) => TE.fromEither(graphAt(windows.window)))
    )
  }
  return pipe(
    graphAt(extent),
    E.chainFirst(checkScoreExtent),
    E.fold(byWindows, (graph) =>
      TE.map((planned: Planned): PlannedPrediction => ({ windows: { planned, window: extent, fields: undefined }, graph }))(
        planWith(setup)(extent)
      )
    )
  )
}
