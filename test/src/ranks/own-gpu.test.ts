/** Which GPU of its machine is a rank's. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type KnownGpus, ownGpu } from '../../../src/ranks/own-gpu'

const four: KnownGpus = { gpus: 4, mayShare: false }

const messageOf = (environment: Readonly<Record<string, string>>, known: KnownGpus): string => {
  const found = ownGpu(environment, known)
  return E.isLeft(found) ? found.left.message : `the GPU ${found.right}`
}

test('a rank has the GPU of its number among those of its machine, by the variables of each launcher', () => {
  for (const name of ['OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID', 'SLURM_LOCALID']) {
    assert.equal(ownGpu({ [name]: '3' }, four), E.right('3'))
    assert.equal(ownGpu({ [name]: '3' }, { ...four, gpus: undefined }), E.right('3'))
    assert.equal(ownGpu({ [name]: '1', CUDA_VISIBLE_DEVICES: '2,GPU-7f,5' }, four), E.right('GPU-7f'))
  }
})

test('a rank is left what it sees where a launcher has chosen, or does not count', () => {
  assert.equal(ownGpu({}, four), E.right(undefined))
  assert.equal(ownGpu({ SLURM_LOCALID: '1', CUDA_VISIBLE_DEVICES: '6' }, four), E.right('6'))
  assert.equal(ownGpu({ SLURM_LOCALID: '1', CUDA_VISIBLE_DEVICES: '' }, four), E.right(undefined), 'it is shown none')
})

test('more ranks than GPUs are refused, unless they may share them', () => {
  const local = { OMPI_COMM_WORLD_LOCAL_RANK: '4' }
  assert.is(
    messageOf(local, four),
    'this machine has 4 GPUs, but 5 ranks or more: start at most one for each GPU, or set TILEFOLD_NCCL_PATH to none to share GPUs and exchange through the host, which is slower'
  )
  assert.match(messageOf({ MPI_LOCALRANKID: '1' }, { ...four, gpus: 1 }), 'this machine has one GPU, but 2 ranks or more')
  assert.match(messageOf({ ...local, CUDA_VISIBLE_DEVICES: '0,1' }, four), 'this machine has 2 GPUs')
  assert.is(messageOf(local, { ...four, mayShare: true }), 'the GPU 0')
  assert.is(messageOf({ ...local, CUDA_VISIBLE_DEVICES: '5,7' }, { ...four, mayShare: true }), 'the GPU 5')
})

test.run()
