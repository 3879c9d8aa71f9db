import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Graph, receptiveField } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type Extent2, extentText } from '../images/resolution'
import type { Planned } from '../plans/plan-network'
import { partBytes } from '../../native'
import { type ReceptiveFields, chooseWindowExtent } from './window-spans'

/** Windows of one extent, by which a network runs over images. */
export interface PlannedWindows {
  readonly planned: Planned
  readonly window: Extent2
  /** Absent where each image is one window. */
  readonly fields: ReceptiveFields | undefined
}

/** A network that makes scores of each pixel of what it is given, at whatever extent. */
export interface WindowedNetwork {
  readonly graphAt: (extent: Extent2) => E.Either<unknown, Graph>
  /** Plans a window; fails with code `budget` where a smaller one may fit. */
  readonly planAt: (extent: Extent2) => Outcome<Planned>
  /** Why no windows of it cover images, of which these are the least sides. */
  readonly refuse: (least: Extent2, reason: Failure) => Failure
}

/** What outputs read of an image of some extent; absent where that is all of it. */
export const fieldsAt = ({ graphAt }: Pick<WindowedNetwork, 'graphAt'>, extent: Extent2): ReceptiveFields | undefined =>
  pipe(
    graphAt(extent),
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

/** Plans a window; fails with code `budget` where it does not fit, or its scores are too many. */
export const planWindow = ({ planAt }: Pick<WindowedNetwork, 'planAt'>, window: Extent2): Outcome<Planned> =>
  pipe(
    planAt(window),
    TE.filterOrElse(
      ({ staged }) => staged.program.step.stepIoBytes <= partBytes,
      ({ staged }): Failure => ({
        code: 'budget',
        message: `the scores of ${extentText(window)} pixels are ${staged.program.step.stepIoBytes} bytes, more than ${partBytes} at once`
      })
    )
  )

/** The least or the largest sides of some images; windows of the least lie within each. */
const combineSides = (extents: readonly Extent2[], choose: (a: number, b: number) => number): Extent2 => ({
  height: extents.map(({ height }) => height).reduce((a, b) => choose(a, b)),
  width: extents.map(({ width }) => width).reduce((a, b) => choose(a, b))
})

/**
 * The largest windows that fit, of which some cover an image of each extent: the longer side is
 * halved until they do. `whole`: why an image at once is none, where that was tried.
 */
export const planWindows = (
  network: WindowedNetwork,
  extents: readonly Extent2[],
  fields: ReceptiveFields,
  whole?: Failure
): Outcome<PlannedWindows> => {
  const [least, largest] = [combineSides(extents, Math.min), combineSides(extents, Math.max)]
  const { stride: high } = fields.H
  const { stride: wide } = fields.W
  const refuse = (reason: Failure): Outcome<never> => TE.left(network.refuse(least, reason))
  const attempt = (parts: { readonly height: number; readonly width: number }, last: Failure): Outcome<PlannedWindows> => {
    const height = chooseWindowExtent(least.height, parts.height, fields.H, largest.height)
    const width = chooseWindowExtent(least.width, parts.width, fields.W, largest.width)
    if (height === undefined || width === undefined || height < high || width < wide) return refuse(last)
    const window = { height, width }
    const next = height >= width ? { ...parts, height: 2 * parts.height } : { ...parts, width: 2 * parts.width }
    if (!sameFields(fields, fieldsAt(network, window))) return refuse({ ...last, message: `${extentText(window)} is read otherwise` })
    return pipe(
      planWindow(network, window),
      TE.map((planned): PlannedWindows => ({ planned, window, fields })),
      TE.orElse((failure) => (failure.code === 'budget' ? attempt(next, failure) : TE.left(failure)))
    )
  }
  const parts = (length: number, stride: number): number => (length % stride === 0 ? 1 : 2)
  const tooSmall = inputFailure(
    `${whole === undefined ? '' : `${whole.message}; `}they are smaller than ${extentText({ height: high, width: wide })}, the network's stride`
  )
  return attempt({ height: parts(least.height, high), width: parts(least.width, wide) }, whole?.code === 'budget' ? whole : tooSmall)
}
