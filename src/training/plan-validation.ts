import * as E from 'fp-ts/Either'
import { groupBy } from 'fp-ts/NonEmptyArray'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type AnyLayer, type Model, meanSquaredError } from '../../dsl'
import { type Op, flatLayers, isLoss } from '../../dsl/internal'
import { type Graph, type Node, type Source, buildGraph, receptiveField } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import type { Example } from '../images/dataset'
import { type Extent2, extentText } from '../images/resolution'
import { frozenModel, mapOps } from '../model/model-layers'
import { type Planned, buildSetupGraph, planNetwork } from '../plans/plan-network'
import type { RunnableSetup } from '../plans/setup'
import type { Watching } from '../plans/watching'
import { partBytes } from '../running/step-io'
import { type ReceptiveFields, windowExtent } from './window-spans'

/** An image that is validated whole, and its place in the list. */
export interface ValidatedImage {
  readonly example: Example
  readonly place: number
  readonly extent: Extent2
}

/** Images that one plan evaluates, by windows of one extent. */
export interface ValidationGroup {
  readonly planned: Planned
  readonly window: Extent2
  /** Absent where each image is one window. */
  readonly fields: ReceptiveFields | undefined
  readonly images: readonly ValidatedImage[]
}

/** What whole images are evaluated with. */
export interface ValidationRequest {
  readonly setup: RunnableSetup
  /** Bytes of the training's arena, within which they are evaluated. */
  readonly arenaBytes: number
  readonly source: Source
  /** The training's input [B, C, H, W]. */
  readonly input: readonly number[]
  readonly images: readonly ValidatedImage[]
  readonly watching: Watching
}

/** More extents than this are evaluated by windows of one, where these are exact. */
const mostExtents = 8

const isLossLayer = ({ op }: Pick<AnyLayer, 'op'>): boolean => isLoss(op as Op)

/**
 * The model by its running statistics, whose scores are handed out in place of its loss. Layers
 * keep their names.
 */
const scoringModel = ({ name, layers }: Model): Model => {
  const ends = flatLayers(layers).some(isLossLayer)
  const compared = mapOps(layers, (layer) => (isLossLayer(layer) ? meanSquaredError : layer))
  return frozenModel({ name, layers: ends ? compared : [...compared, meanSquaredError] })
}

const setupFor = ({ setup, arenaBytes, input }: ValidationRequest, { height, width }: Extent2): RunnableSetup => {
  const { device, precision, threads, exactKernels } = setup
  return {
    device,
    ...(precision && { precision }),
    ...(threads === undefined ? {} : { threads }),
    ...(exactKernels && { exactKernels }),
    model: scoringModel(setup.model),
    budget: { kind: 'bytes', bytes: arenaBytes },
    input: [1, input[1]!, height, width]
  }
}

const graphAt = (request: ValidationRequest, extent: Extent2): E.Either<unknown, Graph> => {
  const { model, input } = setupFor(request, extent)
  return buildGraph(model, input!)
}

/** What outputs read of an image of some extent; absent where that is all of it. */
const fieldsAt = (request: ValidationRequest, extent: Extent2): ReceptiveFields | undefined =>
  pipe(
    graphAt(request, extent),
    E.match(
      () => undefined,
      (graph) => {
        const [H, W] = [receptiveField(graph, 'H'), receptiveField(graph, 'W')]
        return H === undefined || W === undefined ? undefined : { H, W }
      }
    )
  )

const sameFields = (one: ReceptiveFields, other: ReceptiveFields | undefined): boolean =>
  (['H', 'W'] as const).every(
    (axis) => one[axis].stride === other?.[axis].stride && one[axis].before === other[axis].before && one[axis].after === other[axis].after
  )

/** The scores of a window are those of its pixels, one by one. */
const checkExtent = ({ height, width }: Extent2, { input: [, , high, wide] }: Node): E.Either<Failure, void> =>
  high === height && wide === width
    ? E.right(undefined)
    : E.left(inputFailure(`the scores of ${extentText({ height, width })} pixels are ${high}x${wide}`))

/**
 * Plans a window; fails with code `budget` where it does not fit, or its scores are too many, and
 * with code `input` where the network has no score of each pixel.
 */
const planWindow = (request: ValidationRequest, window: Extent2): Outcome<Planned> =>
  pipe(
    buildSetupGraph(setupFor(request, window), { kind: 'evaluate' }, request.source),
    E.chainFirst(({ graph }) => checkExtent(window, graph.nodes.at(-1)!)),
    E.chain((built) => planNetwork(built, request.watching)),
    TE.fromEither,
    TE.filterOrElse(
      ({ staged }) => staged.program.step.exchangeBytes <= partBytes,
      ({ staged }): Failure => ({
        code: 'budget',
        message: `the scores of ${extentText(window)} pixels are ${staged.program.step.exchangeBytes} bytes, more than ${partBytes} at once`
      })
    )
  )

type Window = Pick<ValidationGroup, 'planned' | 'window' | 'fields'>

/** The least or the largest sides of some images; windows of the least lie within each. */
const sidesOf = (images: readonly ValidatedImage[], choose: (a: number, b: number) => number): Extent2 => ({
  height: images.map(({ extent }) => extent.height).reduce((a, b) => choose(a, b)),
  width: images.map(({ extent }) => extent.width).reduce((a, b) => choose(a, b))
})

/** Why images cannot be validated whole: of code `budget` where a larger one would help. */
const cutFailure = (least: Extent2, { code, message }: Failure): Failure => {
  const within = code === 'budget' ? ' within the memory of the training' : ''
  return {
    code: code === 'budget' ? 'budget' : 'input',
    message: `images of ${extentText(least)} cannot be validated whole${within} (${message})`
  }
}

/** What a score reads, and the outputs that are one place of the network's stride. */
const readText = ({ H, W }: ReceptiveFields): string =>
  extentText({ height: H.before + H.stride + H.after, width: W.before + W.stride + W.after })

/**
 * The largest windows that fit, of which some cover an image: the longer side is halved until they
 * do. `whole`: why an image at once is none, where that was tried.
 */
const planWindows = (
  request: ValidationRequest,
  images: readonly ValidatedImage[],
  fields: ReceptiveFields,
  whole?: Failure
): Outcome<Window> => {
  const [least, largest] = [sidesOf(images, Math.min), sidesOf(images, Math.max)]
  const { stride: high } = fields.H
  const { stride: wide } = fields.W
  const attempt = (parts: { readonly height: number; readonly width: number }, last: Failure): Outcome<Window> => {
    const height = windowExtent(least.height, parts.height, fields.H, largest.height)
    const width = windowExtent(least.width, parts.width, fields.W, largest.width)
    if (height === undefined || width === undefined || height < high || width < wide) return TE.left(cutFailure(least, last))
    const window = { height, width }
    const next = height >= width ? { ...parts, height: 2 * parts.height } : { ...parts, width: 2 * parts.width }
    if (!sameFields(fields, fieldsAt(request, window)))
      return TE.left(cutFailure(least, { ...last, message: `${extentText(window)} is read otherwise` }))
    return pipe(
      planWindow(request, window),
      TE.map((planned): Window => ({ planned, window, fields })),
      TE.orElse((failure) => (failure.code === 'budget' ? attempt(next, failure) : TE.left(failure)))
    )
  }
  const parts = (length: number, stride: number): number => (length % stride === 0 ? 1 : 2)
  const tooSmall = inputFailure(
    `${whole === undefined ? '' : `${whole.message}; `}they are smaller than the ${readText(fields)} pixels that a score reads`
  )
  return attempt({ height: parts(least.height, high), width: parts(least.width, wide) }, whole?.code === 'budget' ? whole : tooSmall)
}

/** Of images of one extent: one window of the whole image where that fits, else several. */
const planGroup =
  (request: ValidationRequest, fields: ReceptiveFields | undefined) =>
  (images: readonly ValidatedImage[]): Outcome<ValidationGroup> => {
    const { extent } = images[0]!
    const inWindows = (whole: Failure): Outcome<Window> => {
      const message = `${whole.message}; ${request.setup.model.name} reads the whole image for each pixel, so windows would not be exact`
      return fields === undefined ? TE.left(cutFailure(extent, { ...whole, message })) : planWindows(request, images, fields, whole)
    }
    return pipe(
      planWindow(request, extent),
      TE.map((planned): Window => ({ planned, window: extent, fields: undefined })),
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
  const { input, images } = request
  const [, , height = 1, width = 1] = input
  const fields = fieldsAt(request, { height, width })
  const groups = Object.values(byExtent([...images]))
  const planEach = TE.traverseSeqArray(planGroup(request, fields))(groups)
  if (groups.length <= mostExtents || fields === undefined) return planEach
  return pipe(
    planWindows(request, images, fields),
    TE.map((window): readonly ValidationGroup[] => [{ ...window, images }]),
    TE.orElse((failure) => (failure.code === 'budget' || failure.code === 'input' ? planEach : TE.left(failure)))
  )
}
