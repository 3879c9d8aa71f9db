/** A network whose device is given back for a while: what it still knows then, and afterwards. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Failure } from '../../src/failure'
import { buildSetupGraph, imageSource, planNetwork } from '../../src/plans/plan-network'
import { withNetwork } from '../../src/running/running-network'
import { createStepIo } from '../../src/running/step-io'
import { must } from '../must'
import { valueOf } from './outcome'
import small from './small-model'

const planned = must(
  pipe(
    buildSetupGraph(
      { model: small, device: 'reference', precision: 'float64', threads: 1, strategy: 'plain', input: [1, 3, 32, 32] },
      { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
      imageSource
    ),
    E.chain(planNetwork)
  )
)
const { program } = planned.staged

test('a network whose device cannot be had again still saves its weights, as they were', async () => {
  const [before, after] = [createStepIo(program.save), createStepIo(program.save)]
  const failed: Failure[] = []
  // What opens a device anew finds no room in this.
  const shrinking = { ...planned }
  await valueOf(
    withNetwork({ planned: shrinking, device: 'reference', seed: 3 }, (network) =>
      pipe(
        network.save(before),
        TE.chain(() => network.suspendWhile(() => TE.fromIO(() => void (shrinking.arenaBytes = 1)))),
        TE.orElse((failure) => TE.fromIO(() => void failed.push(failure))),
        TE.chain(() => network.save(after))
      )
    )
  )
  assert.is(failed.length, 1)
  assert.ok(program.save.stepIo.length > 0)
  for (const { name } of program.save.stepIo) assert.equal(after.view(name), before.view(name))
})

test.run()
