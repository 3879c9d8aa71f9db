/** The binary interface that MPI 5.0 has standardised, of a library that this builds. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openNetwork, openSession } from '../../native'
import type { Instruction } from '../../staging/program/program'
import { must } from '../must'
import { at, left, parameters, programOf } from './program'
import { buildStandardMpi } from './standard-mpi'

const path = buildStandardMpi()

test('ranks meet by the standard interface, and one that does not come is said to hang', async () => {
  const network = must(openNetwork({ kind: 'mpich', path }))
  assert.is(network.rank, 0)
  assert.is(network.size, 2)
  assert.equal(must(await network.gather(Uint8Array.of(3, 1, 4))()), [Uint8Array.of(3, 1, 4), Uint8Array.of(3, 1, 4)])
  network.limitWaits(100)
  const begun = performance.now()
  const ended = await network.gather(new Uint8Array(13))()
  assert.is(left(ended).message, 'rank 1 hangs: the others have waited for more than 1 second')
  assert.ok(performance.now() - begun >= 100)
  assert.is(left(await network.gather(new Uint8Array(1))()).message, 'an exchange of this rank with others was not finished')
  network.leave(1)
})

test('a rank that does not take what it is sent is said to hang, where nothing comes from it', async () => {
  const network = must(openNetwork({ kind: 'mpich', path }))
  network.limitWaits(100)
  const sends: Instruction = {
    kind: 'exchange',
    engine: 'network',
    ranks: 2,
    sends: [{ rank: 1, bytes: 17, at: at(0) }],
    receives: []
  }
  const program = programOf({ kernels: [], code: [sends] })
  const session = must(openSession({ device: 'reference', program, arenaBytes: 4096, network }))
  const late = setTimeout(() => session.interrupt(), 5000)
  const ended = await session.run('step', new ArrayBuffer(0), parameters, [])()
  clearTimeout(late)
  assert.is(left(ended).message, 'rank 1 hangs: the others have waited for more than 1 second')
  session.close()
  network.leave(1)
})

test.run()
