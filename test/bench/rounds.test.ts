import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Contender, Step } from '../../bench/contender'
import { runInterleaved } from '../../bench/rounds'

/** Steps of these milliseconds, one after the other; negative ones are disturbed. */
const contender = (name: string, times: readonly number[], log: string[]): Contender => {
  let taken = 0
  const step = async (): Promise<Step> => {
    log.push(name)
    const ms = times[taken++ % times.length]!
    return { ms: Math.abs(ms), loss: 0, peakBytes: 0, disturbance: ms < 0 ? 0.5 : 0 }
  }
  return { name, arenaBytes: null, predictedMs: null, limitMs: null, step, close: () => log.push(`${name} closed`) }
}

test('steps are interleaved, and those that something disturbed are taken again and do not count', async () => {
  const log: string[] = []
  const [one, other] = await runInterleaved([contender('a', [3, -100, 5, 4], log), contender('b', [7], log)], 3)
  assert.equal(log, ['a', 'b', 'a', 'a', 'b', 'a', 'b', 'a closed', 'b closed'])
  assert.equal([one!.medianMs, one!.discarded, one!.steps.map(({ ms }) => ms)], [4, 1, [3, 5, 4]])
  assert.equal([other!.medianMs, other!.discarded], [7, 0])
})

test('a round goes on without a step that is disturbed again and again; a contender that never had the machine is no result', async () => {
  const [one] = await runInterleaved([contender('a', [-1, -1, -1, -1, -1, 9], [])], 2)
  assert.equal([one!.steps.map(({ ms }) => ms), one!.discarded], [[9], 5])
  const log: string[] = []
  try {
    await runInterleaved([contender('a', [-1], log)], 1)
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), 'a: something else used the machine during all 5 steps')
  }
  assert.is(log.at(-1), 'a closed')
})

test.run()
