import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Graph, type ReceptiveField, receptiveField } from '../../staging'
import { type Failure, type Outcome, clause, inputFailure } from '../failure'
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

/** A side of images, the least and the longest of which have these lengths. */
interface Side {
  readonly length: number
  readonly longest: number
  readonly field: ReceptiveField
}

/** The extent of windows of which so many cover a side. */
interface SideWindows {
  readonly parts: number
  readonly extent: number
}

const chooseWindows = ({ length, longest, field }: Side, parts: number): SideWindows | undefined => {
  const extent = chooseWindowExtent(length, parts, field, longest)
  return extent === undefined || extent < field.stride ? undefined : { parts, extent }
}

/** Twice as many, or more where those are no smaller; undefined where none are. */
const chooseSmaller = (side: Side, { parts, extent }: SideWindows): SideWindows | undefined => {
  for (let before = parts; before * side.field.stride < side.length; before *= 2) {
    const windows = chooseWindows(side, 2 * before)
    if (windows === undefined || windows.extent < extent) return windows
  }
  return undefined
}

/**
 * The largest windows that fit, of which some cover an image of each extent: the longer side is
 * halved until they do, and the other one where that can be no smaller. `whole`: why an image at
 * once is none, where that was tried.
 */
export const planWindows = (
  network: WindowedNetwork,
  extents: readonly Extent2[],
  fields: ReceptiveFields,
  whole?: Failure
): Outcome<PlannedWindows> => {
  const [least, largest] = [combineSides(extents, Math.min), combineSides(extents, Math.max)]
  const H: Side = { length: least.height, longest: largest.height, field: fields.H }
  const W: Side = { length: least.width, longest: largest.width, field: fields.W }
  const refuse = (reason: Failure): Outcome<never> => TE.left(network.refuse(least, reason))
  const attempt = (high: SideWindows, wide: SideWindows, last?: Failure): Outcome<PlannedWindows> => {
    const window = { height: high.extent, width: wide.extent }
    if (!sameFields(fields, fieldsAt(network, window)))
      return refuse({ code: (last ?? whole)?.code ?? 'input', message: `${extentText(window)} is read otherwise` })
    const smaller = (failure: Failure): Outcome<PlannedWindows> => {
      const [lower, narrower] = [chooseSmaller(H, high), chooseSmaller(W, wide)]
      if (lower !== undefined && (high.extent >= wide.extent || narrower === undefined)) return attempt(lower, wide, failure)
      return narrower === undefined ? refuse(failure) : attempt(high, narrower, failure)
    }
    return pipe(
      planWindow(network, window),
      TE.map((planned): PlannedWindows => ({ planned, window, fields })),
      TE.orElse((failure) => (failure.code === 'budget' ? smaller(failure) : TE.left(failure)))
    )
  }
  const first = (side: Side): SideWindows | undefined => chooseWindows(side, side.length % side.field.stride === 0 ? 1 : 2)
  const [high, wide] = [first(H), first(W)]
  if (high !== undefined && wide !== undefined) return attempt(high, wide)
  const stride = extentText({ height: H.field.stride, width: W.field.stride })
  const tooSmall = inputFailure(`${whole === undefined ? '' : `${clause(whole)}; `}they are smaller than ${stride}, the network's stride`)
  return refuse(whole?.code === 'budget' ? whole : tooSmall)
}
