/** Training of micro-batches on several ranks of this process. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { localNetworks } from '../../../native'

import { trainOn } from '../../../src/commands/train'
import type { TrainReport } from '../../../src'
import type { TrainOptions } from '../../../src/option-tables/train-options'
import type { Planned } from '../../../src/plans/plan-network'
import { findLauncher } from '../../../src/ranks/launcher'
import { createRanks } from '../../../src/ranks/ranks'
import { must } from '../../must'
import { compiledCommand } from '../compiled-command'
import { withLauncher } from '../open-mpi'
import { noise, writeColours, writeImages, writeMasks } from '../example-images'
import { writePng } from '../image-files'
import { classifierOptions, failuresOf, trainOnRanks } from './rank-trainings'
import segmenter from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const options = classifierOptions(at('images'))

test.before(async () => {
  await writeImages(at('images'), 6)
  mkdirSync(at('masks'))
  await writeMasks(at('masks'))
})

test('ranks wait for one another longer while whole images are validated, of which one may have more, as before after it, and for ever in the end', async () => {
  const limits: number[][] = [[], []]
  const sides = [96, 32, 96, 32]
  for (const [place, side] of sides.entries()) {
    await writeColours(at(`wait-${place}.png`), noise(3 * side * side, place), { height: side, width: side })
    writePng(at(`wait-${place}.mask.png`), new Uint8Array(side * side), { height: side, width: side, bitDepth: 8 })
  }
  writeFileSync(at('wait.csv'), `path,mask\n${sides.map((_, place) => `wait-${place}.png,wait-${place}.mask.png\n`).join('')}`)
  const masked = { model: segmenter, data: at('masks/masks.csv'), validation: at('wait.csv'), validateOn: 'image', steps: 2 } as const
  const ended = await Promise.all(
    must(localNetworks(2)).map(async (network) => {
      const told = { ...network, limitWaits: (limit: number) => (limits[network.rank]!.push(limit), network.limitWaits(limit)) }
      const ranks = createRanks(told)
      const trained = await trainOn(ranks)(options({ ...masked, validateEvery: 1 }))()
      ranks.leave(E.isLeft(trained) ? 1 : 0)
      return trained
    })
  )
  ended.forEach(must)
  const [update = 0, validation = 0] = limits[0]!
  assert.ok(update > 60_000 && validation > update, `${update} and ${validation}`)
  for (const ofRank of limits) assert.equal(ofRank, [update, validation, update, validation, update, 0])
})

test('before the updates of a second training of one program ranks wait for one another for ever too', async () => {
  const ended = await Promise.all(
    must(localNetworks(2)).map(async (network) => {
      const trainTwice = trainOn(createRanks(network, 1000))
      must(await trainTwice(options())())
      if (network.rank === 0) await new Promise((resolve) => setTimeout(resolve, 2500))
      const trained = await trainTwice(options())()
      network.leave(E.isLeft(trained) ? 1 : 0)
      return trained
    })
  )
  ended.forEach(must)
})

for (const [name, more] of [
  ['images', { validation: 0.34, clipNorm: 0.5, flip: true, rotate: true }],
  ['masks', { model: segmenter, data: at('masks/masks.csv'), validation: at('masks/masks.csv') }],
  ['a host budget', { budget: '70%', hostBudget: '1GB', strategy: 'sft-offload' }]
] as const)
  test(`the weights' file has the same bytes on one, two and four ranks: ${name}`, async () => {
    const run = async (size: number): Promise<readonly [TrainReport, Buffer]> => {
      const save = at(`${name}-${size}.safetensors`)
      const onPlan = ({ staged: { program } }: Planned): void => assert.is(program.hostBytes > 0, 'hostBudget' in more)
      const reports = (await trainOnRanks(size, () => options({ ...more, save, onPlan }))).map(must)
      for (const { loss, validations } of reports) {
        assert.equal(loss, reports[0]!.loss)
        assert.equal(validations, reports[0]!.validations)
      }
      return [reports[0]!, readFileSync(save)]
    }
    const [one, bytes] = await run(1)
    for (const size of [2, 4]) {
      const [several, same] = await run(size)
      assert.equal(several.loss, one.loss)
      assert.equal(several.validations, one.validations)
      assert.is(several.predictedPeakBytes, one.predictedPeakBytes)
      assert.ok(same.equals(bytes), `other weights on ${size} ranks`)
    }
  })

test('a training goes on, with the same bits, on another number of ranks', async () => {
  const whole = at('whole.safetensors')
  const parts = at('parts.safetensors')
  must((await trainOnRanks(2, () => options({ steps: 6, save: whole })))[0]!)
  for (const [index, size] of [4, 2, 1].entries())
    (await trainOnRanks(size, () => options({ steps: 2 * (index + 1), state: at('state'), resume: true, save: parts }))).forEach(must)
  assert.ok(readFileSync(parts).equals(readFileSync(whole)))
})

test('the first rank alone writes, and reads weights', async () => {
  const weights = at('start.safetensors')
  must((await trainOnRanks(1, () => options({ save: weights, steps: 1 })))[0]!)
  const run = async (of: (rank: number) => Partial<TrainOptions>): Promise<TrainReport> => {
    const ended = await trainOnRanks(2, (rank) =>
      options({ weights, save: at(`saved/${rank}`), metrics: at(`metrics-${rank}`), ...of(rank) })
    )
    return must(ended[0]!)
  }
  mkdirSync(at('saved'))
  const both = await run(() => ({}))
  assert.equal(readdirSync(at('saved')), ['0'])
  assert.not(readdirSync(folder).includes('metrics-1'))
  const absent = await run((rank) => (rank === 0 ? {} : { weights: at('not-there') }))
  assert.equal(absent.loss, both.loss)
})

for (const [what, size, of, sentence] of [
  [
    'an option that differs',
    2,
    (rank: number) => options({ lr: rank === 1 ? 0.2 : 0.1 }),
    'rank 1 has --lr 0.2 where rank 0 has 0.1: start all ranks with the same options, data and build'
  ],
  [
    'crops of other sizes, before they are planned for',
    2,
    (rank: number) => options({ crop: rank === 1 ? [8, 8] : [16, 16] }),
    'rank 1 has another --crop than rank 0: start all ranks with the same options, data and build'
  ],
  [
    'another loss, before it is planned for',
    2,
    (rank: number) => options({ loss: rank === 1 ? 'focal' : 'cross-entropy' }),
    'rank 1 has --loss focal where rank 0 has cross-entropy: start all ranks with the same options, data and build'
  ],
  [
    'gradients that are clipped on one alone, before they are planned for',
    2,
    (rank: number) => options({ ...(rank === 1 && { clipNorm: 1 }) }),
    'rank 1 has --clip-norm 1 where rank 0 has none: start all ranks with the same options, data and build'
  ],
  [
    'data that differ',
    3,
    (rank: number) => options({ accumulate: 3, data: at(rank === 2 ? 'fewer' : 'images') }),
    /^rank 2 has --data 8 images of hash \w+ where rank 0 has 12 images of hash \w+: start all ranks with the same options, data and build$/
  ],
  [
    'images that differ under the same names',
    2,
    (rank: number) => options({ data: at(rank === 1 ? 'other' : 'images') }),
    /^rank 1 has data files of hash \w+ where rank 0 has \w+: start all ranks with the same options, data and build$/
  ],
  ['a rank without its data', 2, (rank: number) => options({ data: at(rank === 1 ? 'nowhere' : 'images') }), /^rank 1: .*nowhere/],
  [
    'micro-batches that cannot be shared',
    3,
    () => options(),
    '3 ranks share the micro-batches of an update: give --accumulate 3, or a multiple of it, in place of 4'
  ],
  [
    'weights that are not there, before anything is planned',
    2,
    () => options({ weights: at('nowhere.safetensors'), budget: 1000 }),
    /^--weights .*nowhere.safetensors: cannot be read \(no such file or directory\)$/
  ],
  ['a budget that nothing fits', 2, () => options({ budget: 1000 }), /^classifier on 2x3x32x32 does not fit the budget of 1000 bytes/],
  ['a loss that is not finite', 2, () => options({ lr: 1e30, steps: 50 }), /^the loss is .* at step/]
] as const)
  test(`${what}: one sentence on all ranks`, async () => {
    if (what === 'data that differ') await writeImages(at('fewer'), 4)
    if (what === 'images that differ under the same names') {
      await writeImages(at('other'), 6)
      await writeColours(at('other/light/3.png'), noise(3 * 24 * 40, 1), { height: 24, width: 40 })
    }
    const failures = failuresOf(await trainOnRanks(size, of))
    for (const { message } of failures) assert.is(message, failures[0]!.message)
    if (what === 'a budget that nothing fits') assert.ok(failures[0]!.smallestFeasibleBudgetBytes! > 1000)
    if (typeof sentence === 'string') assert.is(failures[0]!.message, sentence)
    else assert.match(failures[0]!.message, sentence)
  })

test('what stops one rank stops all after the same step, with a state', async () => {
  const stop = new AbortController()
  const steps = new Map<number, number>()
  const ended = await trainOnRanks(2, (rank) =>
    options({
      steps: 1000,
      state: at('stopped'),
      onStep: ({ step }) => {
        steps.set(rank, step)
        if (rank === 1 && step === 4) stop.abort()
      },
      ...(rank === 1 ? { signal: stop.signal } : {})
    })
  )
  assert.is(steps.get(0), steps.get(1))
  const done = steps.get(0)! + 1
  assert.ok(done < 20, `${done} steps`)
  const [first, second] = failuresOf(ended)
  assert.is(second!.message, `interrupted after ${done} of 1000 steps`)
  assert.is(first!.message, `interrupted after ${done} of 1000 steps; ${at('stopped')} holds the state after step ${done}`)
})

test('ranks that are asked to stop within a long step keep the last finished one, before that is done', async () => {
  const stop = new AbortController()
  // Once both have what comes behind the second step, and long before the third one ends.
  const onStep = ({ step }: { readonly step: number }): void => void (step === 1 && setTimeout(() => stop.abort(), 300))
  // The reference device's steps outlast a launcher's patience.
  const long = { input: [2, 3, 800, 800], device: 'reference', stateEvery: 1000, steps: 1000 } as const
  const ended = await trainOnRanks(2, (rank) => options({ ...long, state: at('kept'), signal: stop.signal, ...(rank === 1 && { onStep }) }))
  for (const { code } of failuresOf(ended)) assert.is(code, 'interrupted')
  // No state is due: one is of the stop, or of a step before it, and one of the step that ran.
  const states = readdirSync(at('kept')).map((name) => Number(/^step-(\d+)\./.exec(name)![1]))
  assert.equal(states.sort(), [2, 3])
})

test('launchers are told apart by what they set', () => {
  const found = (environment: Readonly<Record<string, string>>) => findLauncher(environment)
  assert.equal(found({}), E.right(undefined))
  assert.equal(
    found({ OMPI_COMM_WORLD_SIZE: '4', OMPI_COMM_WORLD_RANK: '3', PMIX_RANK: '3' }),
    E.right({ kind: 'open-mpi', library: 'Open MPI', rank: 3, size: 4 })
  )
  assert.equal(found({ PMI_RANK: '1', PMI_SIZE: '2' }), E.right({ kind: 'mpich', library: 'MPICH', rank: 1, size: 2 }))
  assert.equal(
    found({ PMIX_RANK: '0', SLURM_PROCID: '0', SLURM_STEP_NUM_TASKS: '8' }),
    E.right({ kind: 'open-mpi', library: 'Open MPI', rank: 0, size: 8 })
  )
  // A batch script, and a step of one process, are no ranks.
  assert.equal(found({ SLURM_PROCID: '0', SLURM_NTASKS: '4' }), E.right(undefined))
  assert.equal(found({ SLURM_PROCID: '0', SLURM_STEP_NUM_TASKS: '1' }), E.right(undefined))
  const messageOf = (environment: Readonly<Record<string, string>>): string => {
    const launcher = found(environment)
    return E.isLeft(launcher) ? launcher.left.message : 'a launcher'
  }
  assert.is(
    messageOf({ SLURM_PROCID: '2', SLURM_STEP_NUM_TASKS: '4' }),
    'srun started 4 processes that do not know of each other: give srun --mpi=pmix for Open MPI, or --mpi=pmi2 for MPICH'
  )
  // Node has files of its own, of which one may have the number that npx closed.
  const file = openSync(__filename, 'r')
  for (const descriptor of [987, file])
    assert.is(
      messageOf({ PMI_RANK: '0', PMI_SIZE: '2', PMI_FD: `${descriptor}` }),
      `the launcher's connection (PMI_FD ${descriptor}) is closed, as npx does with it: start node_modules/.bin/tilefold in place of npx tilefold`
    )
  closeSync(file)
})

test('a step of srun within another is what its own plugin says', () => {
  // What srun of Slurm 22.05 sets, and passes on of a step around it.
  const step = { SLURM_PROCID: '1', SLURM_STEP_NUM_TASKS: '2' }
  const pmi2 = { PMI_RANK: '1', PMI_SIZE: '2', PMI_FD: '987' }
  const openMpi = { kind: 'open-mpi', library: 'Open MPI', rank: 1, size: 2, otherwise: 'give srun --mpi=pmi2 for MPICH' }
  assert.equal(findLauncher({ ...step, PMIX_RANK: '1', SLURM_MPI_TYPE: 'pmix' }), E.right(openMpi))
  assert.equal(findLauncher({ ...step, ...pmi2, PMIX_RANK: '1', SLURM_MPI_TYPE: 'pmix' }), E.right(openMpi))
  assert.ok(E.isLeft(findLauncher({ ...step, ...pmi2, PMIX_RANK: '0', SLURM_MPI_TYPE: 'pmi2' })))
  assert.ok(E.isLeft(findLauncher({ ...step, PMIX_RANK: '0', SLURM_MPI_TYPE: 'none' })))
  assert.equal(findLauncher({ SLURM_PROCID: '0', SLURM_STEP_NUM_TASKS: '1', PMIX_RANK: '0', SLURM_MPI_TYPE: 'none' }), E.right(undefined))
})

test('where the library does not load, srun is told what the other MPI wants', async () => {
  const step = { SLURM_PROCID: '0', SLURM_STEP_NUM_TASKS: '2', TILEFOLD_MPI_PATH: 'no-such-library.so' }
  for (const [of, remedy] of [
    [{ PMIX_RANK: '0', SLURM_MPI_TYPE: 'pmix' }, 'give srun --mpi=pmi2 for MPICH'],
    [{ PMI_RANK: '0', PMI_SIZE: '2', SLURM_MPI_TYPE: 'pmi2' }, 'give srun --mpi=pmix for Open MPI']
  ] as const) {
    const { status, stderr } = spawnSync(process.execPath, [compiledCommand().script, 'profile', '--network'], {
      encoding: 'utf8',
      env: { ...process.env, ...step, ...of }
    })
    assert.is(status, 2, stderr)
    assert.match(stderr, /set TILEFOLD_MPI_PATH to its library, or /)
    assert.match(stderr, remedy)
  }
})

withLauncher("a library of Open MPI's is refused under MPICH's launcher before it starts", () => {
  const { status, stderr } = spawnSync(process.execPath, [compiledCommand().script, 'profile', '--network'], {
    encoding: 'utf8',
    env: { ...process.env, PMI_RANK: '0', PMI_SIZE: '1', TILEFOLD_MPI_PATH: 'libmpi.so.40' }
  })
  assert.is(status, 2, stderr)
  assert.match(stderr, /the launcher is MPICH's, but libmpi\.so\.40 is Open MPI's: set TILEFOLD_MPI_PATH to MPICH's library, or start /)
})

test.run()
