import * as E from 'fp-ts/Either'
import { groupBy } from 'fp-ts/NonEmptyArray'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Node, type Source, buildGraph } from '../../../staging'
import { type Failure, type Outcome, clause, inputFailure } from '../../failure'
import type { Example } from '../../datasets/dataset'
import { type Extent2, extentText } from '../../images/resolution'
import { scoringModel } from '../../model/scoring-model'
import { buildSetupGraph, planNetwork } from '../../plans/plan-network'
import type { RunnableSetup } from '../../plans/setup'
import type { Watching } from '../../plans/watching'
import { type PlannedWindows, type WindowedNetwork, fieldsAt, planWindow, planWindows } from '../../running/plan-windows'
import type { ReceptiveFields } from '../../running/window-spans'

/** An image that is validated whole, and its place in the list. */
export interface ValidatedImage {
  readonly example: Example
  readonly place: number
  readonly extent: Extent2
}

/** Images that one plan evaluates, by windows of one extent. */
export interface ValidationGroup extends PlannedWindows {
  readonly images: readonly ValidatedImage[]
}

/** The setup, memory and images of an evaluation of whole images. */
export interface ValidationRequest {
  readonly setup: RunnableSetup
  /** Bytes within which they are evaluated: as many as the training may take. */
  readonly budgetBytes: number
  readonly source: Source
  /** The training's input [B, C, H, W]. */
  readonly input: readonly number[]
  readonly images: readonly ValidatedImage[]
  readonly watching: Watching
}

/** More extents than this are evaluated by windows of one, where these are exact. */
const mostExtents = 8

const setupFor = ({ setup, budgetBytes, input }: ValidationRequest, { height, width }: Extent2): RunnableSetup => {
  const { device, precision, threads, exactKernels } = setup
  return {
    device,
    ...(precision && { precision }),
    ...(threads === undefined ? {} : { threads }),
    ...(exactKernels && { exactKernels }),
    model: scoringModel(setup.model),
    budget: { kind: 'bytes', bytes: budgetBytes },
    input: [1, input[1]!, height, width]
  }
}

/** The scores of a window are those of its pixels, one by one. */
const checkExtent = ({ height, width }: Extent2, { input: [, , high, wide] }: Node): E.Either<Failure, void> =>
  high === height && wide === width
    ? E.right(undefined)
    : E.left(inputFailure(`the scores of ${extentText({ height, width })} pixels are ${high}x${wide}`))

/** Why images cannot be validated whole: of code `budget` where a larger one would help. */
const cutFailure = (least: Extent2, reason: Failure): Failure => {
  const { code } = reason
  const within = code === 'budget' ? ' within the memory of the training' : ''
  return {
    code: code === 'budget' ? 'budget' : 'input',
    message: `images of ${extentText(least)} cannot be validated whole${within} (${clause(reason)})`
  }
}

/**
 * The network whose scores are measured; a plan fails with code `input` where it has no score of
 * each pixel.
 */
const windowedNetwork = (request: ValidationRequest): WindowedNetwork => ({
  graphAt: (extent) => {
    const { model, input } = setupFor(request, extent)
    return buildGraph(model, input!)
  },
  planAt: (window) =>
    pipe(
      buildSetupGraph(setupFor(request, window), { kind: 'evaluate' }, request.source),
      E.chainFirst(({ graph }) => checkExtent(window, graph.nodes.at(-1)!)),
      E.chain((built) => planNetwork(built, request.watching)),
      TE.fromEither
    ),
  refuse: cutFailure
})

/** Of images of one extent: one window of the whole image where that fits, else several. */
const planGroup =
  (network: WindowedNetwork, name: string, fields: ReceptiveFields | undefined) =>
  (images: readonly ValidatedImage[]): Outcome<ValidationGroup> => {
    const { extent } = images[0]!
    const inWindows = (whole: Failure): Outcome<PlannedWindows> => {
      const message = `${clause(whole)}; ${name} reads the whole image for each pixel, so windows would not be exact`
      return fields === undefined ? TE.left(network.refuse(extent, { ...whole, message })) : planWindows(network, [extent], fields, whole)
    }
    return pipe(
      planWindow(network, extent),
      TE.map((planned): PlannedWindows => ({ planned, window: extent, fields: undefined })),
      TE.orElse((failure) => (failure.code === 'budget' || failure.code === 'input' ? inWindows(failure) : TE.left(failure))),
      TE.map((window) => ({ ...window, images }))
    )
  }

const byExtent = groupBy(({ extent }: ValidatedImage) => extentText(extent))

/**
 * Plans the evaluation of whole images within the bytes of the training's arena, which it takes the
 * place of: of an image at once where that fits, else by windows whose outputs are those of the
 * whole. Images of many extents share windows of one, where those of the least are large enough.
 * Where nothing of this can be it fails: with code `budget` where a larger one would help, else
 * with code `input`.
 */
export const planValidation = (request: ValidationRequest): Outcome<readonly ValidationGroup[]> => {
  const { input, images, setup } = request
  const [, , height = 1, width = 1] = input
  const network = windowedNetwork(request)
  const fields = fieldsAt(network, { height, width })
  const groups = Object.values(byExtent([...images]))
  const planEach = TE.traverseSeqArray(planGroup(network, setup.model.name, fields))(groups)
  if (groups.length <= mostExtents || fields === undefined) return planEach
  return pipe(
    planWindows(
      network,
      images.map(({ extent }) => extent),
      fields
    ),
    TE.map((window): readonly ValidationGroup[] => [{ ...window, images }]),
    TE.orElse((failure) => (failure.code === 'budget' || failure.code === 'input' ? planEach : TE.left(failure)))
  )
}
