/** A network whose device is given back for a while: what it still knows then, and afterwards. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../../../src/failure'
import { buildSetupGraph, imageNetSource, planNetwork } from '../../../src/plans/plan-network'
import { type RunningNetwork, withNetwork } from '../../../src/running/running-network'
import { createStepIo } from '../../../native/session/step-io'
import { must } from '../../must'
import { noise } from '../example-images'
import { valueOf } from '../outcome'
import small from '../small-model'

const planned = must(
  pipe(
    buildSetupGraph(
      { model: small, device: 'reference', precision: 'float64', threads: 1, strategy: 'plain', input: [1, 3, 32, 32] },
      { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
      imageNetSource
    ),
    E.chain(planNetwork)
  )
)
const { program } = planned.staged
const upright = { flipHorizontal: false, flipVertical: false, quarterTurns: 0 } as const

test('a network whose device cannot be had again still saves its weights, as they were', async () => {
  const [before, after] = [createStepIo(program.save), createStepIo(program.save)]
  const failed: Failure[] = []
  // What opens a device anew finds no room in this.
  const shrinking = { ...planned }
  await valueOf(
    withNetwork({ planned: shrinking, device: 'reference', seed: 3 }, (network) =>
      pipe(
        network.save(before),
        TE.chain(() =>
          network.suspendWhile(() =>
            TE.fromIO(() => void (shrinking.staged = { ...planned.staged, program: { ...program, peakBytes: 1 } }))
          )
        ),
        TE.orElse((failure) => TE.fromIO(() => void failed.push(failure))),
        TE.chain(() => network.save(after))
      )
    )
  )
  assert.is(failed.length, 1)
  assert.ok(program.save.stepIo.length > 0)
  for (const { name } of program.save.stepIo) assert.equal(after.view(name), before.view(name))
})

test('of what failed meanwhile and the device that cannot be had again, the first is said', async () => {
  const shrinking = { ...planned }
  const failed = await withNetwork({ planned: shrinking, device: 'reference', seed: 3 }, (network) =>
    network.suspendWhile(() => {
      shrinking.staged = { ...planned.staged, program: { ...program, peakBytes: 1 } }
      return TE.left(inputFailure('this is why'))
    })
  )()
  assert.equal(failed, E.left(inputFailure('this is why')))
})

test('what was counted of a network goes on after its device was given back', async () => {
  const times: (readonly number[])[] = []
  const note = (network: RunningNetwork): Outcome<void> => TE.fromIO(() => void times.push(network.kernelMilliseconds()))
  const pixels = noise(3 * 32 * 32, 1)
  const image = { ...{ pixels, height: 32, width: 32, channels: 3, cropTop: 0, cropLeft: 0 }, ...upright } as const
  await valueOf(
    withNetwork({ planned, device: 'reference', seed: 3, timesKernels: true }, (network) =>
      pipe(
        network.step({ learningRate: 0.1, step: 0, seed: 0 }, [image]),
        TE.chain(() => note(network)),
        TE.chain(() => network.suspendWhile(() => note(network))),
        TE.chain(() => note(network))
      )
    )
  )
  const [before, meanwhile, after] = times
  const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0)
  assert.ok(sum(before!) > 0)
  assert.ok(sum(meanwhile!) >= sum(before!) && sum(after!) >= sum(meanwhile!), `${times.map(sum).join(', ')}`)
})

test.run()
