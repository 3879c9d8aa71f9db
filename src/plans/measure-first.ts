import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type ProfiledModel, deviceFileName } from '../../staging'
import { type Failure, type Outcome, errorReason, inputFailure } from '../failure'
import { cacheFolder } from '../files/cache-folder'
import { makeFolder } from '../files/make-folder'
import { loadDeviceModel, measurableChoice } from './device'
import { type Round, type TimeLimit, measure } from './measure-kernels'
import { type PlansToMeasure, missingKernels, missingSizes, missingSizesWithTiles } from './missing-kernels'
import type { SetupGraph } from './plan-network'
import type { RunnableSetup } from './setup'
import { launchedKernels, measurableKernel } from './wanted-kernels'
import type { Watching } from './watching'

const noLimit: TimeLimit = { milliseconds: Infinity, longestLaunch: { convolution: Infinity, other: Infinity } }

const sampleSeconds = 15

/** A launch that is measured is repeated eight times: none takes much more than a second in all. */
const sampleLimit: TimeLimit = { milliseconds: 1000 * sampleSeconds, longestLaunch: { convolution: 150, other: 20 } }

/** A setup without its budget, by the strategy that decides nothing. */
const plainSetup = ({ budget: _, plan: _plan, hostBudget: _host, ...setup }: RunnableSetup): RunnableSetup => ({
  ...setup,
  strategy: 'plain'
})

/** Sizes are taken for known within a factor of four. */
const [nearDistance, knownShare] = [Math.log(4), 0.8]

/** Tells whether most time of the plain step is in kernels about whose sizes were measured. */
const isKnown =
  (wanted: PlansToMeasure) =>
  (device: ProfiledModel): E.Either<Failure, boolean> =>
    pipe(
      launchedKernels(wanted, device),
      E.map((launched) => {
        const sums = { known: 0, all: 0 }
        for (const { kernel, milliseconds } of launched) {
          const near = measurableKernel(device, wanted.longestLaunch, kernel).every((one) => device.distanceOf(one) <= nearDistance)
          sums.known += near ? milliseconds : 0
          sums.all += milliseconds
        }
        return sums.known >= knownShare * sums.all
      })
    )

/** The times of some networks take less. */
const roomOfTimes = 1024 * 1024

/** Writes as much as times may take, and removes it: what a quota still takes is known then. */
const tryRoomForTimes: Outcome<void> = TE.tryCatch(
  async () => {
    const trial = join(cacheFolder(), `room.${process.pid}.tmp`)
    await makeFolder(cacheFolder())
    await writeFile(trial, Buffer.alloc(roomOfTimes)).finally(() => rm(trial, { force: true }))
  },
  (thrown) => inputFailure(`${cacheFolder()}: cannot be written (${errorReason(thrown)})`)
)

/** Goes on without a sample, which nobody asked for, where its times cannot be kept. */
const unlessUnkept =
  ({ onNotice }: Watching) =>
  (failure: Failure): Outcome<void> => {
    if (failure.code !== 'input') return TE.left(failure)
    onNotice?.(
      `${failure.message}: kernels are not measured here; set XDG_CACHE_HOME to a folder that keeps their times, or give --no-measure`
    )
    return TE.right(undefined)
  }

/**
 * Measures the most important kernels of the network, where most of it is unknown. Where the times
 * cannot be kept it is left out: it would be measured before every plan.
 */
const measureSample = (setup: RunnableSetup, built: SetupGraph, watching: Watching): Outcome<void> => {
  const { longestLaunch } = sampleLimit
  const plain: PlansToMeasure = { setups: [plainSetup(setup)], built, longestLaunch, ...watching }
  const rounds: readonly Round[] = [
    [missingSizesWithTiles(plain), 1],
    [missingSizes({ ...plain, setups: [setup] }), 2]
  ]
  const sampled = pipe(
    tryRoomForTimes,
    TE.chainFirstIOK(() => () => watching.onSample?.(sampleSeconds)),
    TE.chain(() => measure({ setup, rounds, limit: sampleLimit, ...watching })),
    TE.map(() => undefined),
    TE.orElse(unlessUnkept(watching))
  )
  return pipe(
    TE.fromEither(pipe(loadDeviceModel(setup, watching), E.chain(isKnown(plain)))),
    TE.chain((known) => (known ? TE.right(undefined) : sampled))
  )
}

/**
 * Measures what the plan of a setup needs and this machine's profile lacks, where the setup asks
 * for it: all of it, or a sample, which devices of files and those that are not timed do without.
 */
export const measureFirst = (built: SetupGraph, watching: Watching): Outcome<void> => {
  const { device, ...setup } = built.setup
  if (setup.measure === undefined) return TE.right(undefined)
  if (setup.measure === 'sample')
    return typeof device !== 'string' || measurableChoice({ ...setup, device }) === undefined
      ? TE.right(undefined)
      : measureSample({ ...setup, device }, built, watching)
  if (typeof device !== 'string')
    return TE.left(inputFailure(`--measure: ${deviceFileName(device)} is known from a file and cannot be measured here`))
  const here: RunnableSetup = { ...setup, device }
  const wanted: PlansToMeasure = { setups: [here], built, longestLaunch: noLimit.longestLaunch, ...watching }
  return pipe(
    measure({
      setup: here,
      rounds: [
        [missingSizes(wanted), 3],
        [missingKernels(wanted), 6]
      ],
      limit: noLimit,
      ...watching
    }),
    TE.map(() => undefined)
  )
}
