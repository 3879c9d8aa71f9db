import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { asInTiles, isConvolution, smallerKernel } from '../../staging'
import type { FindMissing } from './measure-kernels'
import type { SetupGraph } from './plan-network'
import type { RunnableSetup } from './setup'
import { type LongestLaunch, algorithmVariants, launchedKernels, measurableKernel } from './wanted-kernels'
import type { Watching } from './watching'

/** Plans whose kernels are to be measured: all are of one graph on one device. */
export interface PlansToMeasure extends Watching {
  readonly setups: readonly RunnableSetup[]
  readonly built: Pick<SetupGraph, 'objective' | 'source' | 'graph'>
  readonly longestLaunch: LongestLaunch
}

/** Sizes, by every algorithm, that are far from all measured ones. */
export const missingSizes =
  ({ longestLaunch, ...wanted }: PlansToMeasure): FindMissing =>
  (device, until) =>
    pipe(
      launchedKernels({ ...wanted, until }, device),
      E.map((launched) =>
        device.sample(
          launched
            .flatMap(({ kernel }) => algorithmVariants(device, kernel))
            .flatMap((kernel) => measurableKernel(device, longestLaunch, kernel))
        )
      )
    )

/** The kernels that the wanted plans launch and that were not measured, but for the longest. */
export const missingKernels =
  ({ longestLaunch, ...wanted }: PlansToMeasure): FindMissing =>
  (device, until) =>
    pipe(
      launchedKernels({ ...wanted, until }, device),
      E.map((launched) =>
        launched
          .map(({ kernel }) => kernel)
          .filter((kernel) => device.sourceOf(kernel) !== 'measured' && measurableKernel(device, longestLaunch, kernel).includes(kernel))
      )
    )

/** The share of the work of a convolution that a usual tile of it has. */
const tileShare = 1 / 4

/**
 * Sizes that are far from all measured ones; then those of tiles of the convolutions, and of tiles
 * of them without Winograd, which small budgets have no room for.
 */
export const missingSizesWithTiles =
  ({ longestLaunch, setups, ...wanted }: PlansToMeasure): FindMissing =>
  (device, until) =>
    pipe(
      [setups, setups.map((setup): RunnableSetup => ({ ...setup, exactKernels: true }))],
      E.traverseArray((some) =>
        pipe(
          launchedKernels({ ...wanted, setups: some, until }, device),
          E.map((launched) => launched.flatMap(({ kernel }) => measurableKernel(device, longestLaunch, kernel)))
        )
      ),
      E.map(([whole = [], direct = []]) => {
        const tiles = [...whole, ...direct].filter(isConvolution).flatMap((kernel) => smallerKernel(asInTiles(kernel), tileShare) ?? [])
        return device.sample([...whole, ...tiles].flatMap((kernel) => algorithmVariants(device, kernel)))
      })
    )
