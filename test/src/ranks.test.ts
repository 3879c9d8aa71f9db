/**
 * Training on several ranks: most of it in this process, some by MPI's launcher where there is one.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import { localNetworks } from '../../native'
import type { TrainReport } from '../../src'
import { train, trainOn } from '../../src/commands/train'
import type { Failure } from '../../src/failure'
import type { TrainOptions } from '../../src/option-tables/train-options'
import { findLauncher } from '../../src/ranks/launcher'
import { createRanks } from '../../src/ranks/ranks'
import { must } from '../must'
import { type Ended } from './command-line'
import { compiledCommand } from './compiled-command'
import { noise, writeColours, writeImages, writeMasks } from './example-images'
import { writePng } from './image-files'
import segmenter from './segmenting-model'
import { temporaryFolder } from './temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

const features = [conv2d({ out: 4, k: 3, p: 1 }), batchNorm(), relu, maxPool2d({ k: 2 }), conv2d({ out: 8, k: 3, p: 1 }), batchNorm(), relu]
const classifier = model({
  name: 'classifier',
  input: [2, 3, 32, 32],
  layers: [...features, globalAvgPool, linear({ out: 2 })]
})
test.before(async () => {
  await writeImages(at('images'), 6)
  mkdirSync(at('masks'))
  await writeMasks(at('masks'))
})

const options = (more: Partial<TrainOptions> = {}): TrainOptions => ({
  model: classifier,
  data: at('images'),
  device: 'cpu',
  threads: 1,
  accumulate: 4,
  steps: 3,
  seed: 5,
  ...more
})

/** The answers of so many ranks of this process; `of` gives the options of each. */
const trainOnRanks = async (size: number, of: (rank: number) => TrainOptions): Promise<readonly E.Either<Failure, TrainReport>[]> =>
  Promise.all(
    must(localNetworks(size)).map(async (network) => {
      const ranks = createRanks(network)
      const ended = await trainOn(ranks)(of(network.rank))()
      // What the process's exit does under a launcher.
      ranks.leave(E.isLeft(ended) ? 1 : 0)
      return ended
    })
  )

test('ranks wait for one another longer while whole images are validated, of which one may have more, and as before after it', async () => {
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
  for (const ofRank of limits) assert.equal(ofRank, [update, validation, update, validation, update])
})

for (const [name, more] of [
  ['images', { validation: 0.34, clipNorm: 0.5, flip: true, rotate: true }],
  ['masks', { model: segmenter, data: at('masks/masks.csv'), validation: at('masks/masks.csv') }]
] as const)
  test(`the weights' file has the same bytes on one, two and four ranks: ${name}`, async () => {
    const run = async (size: number): Promise<readonly [TrainReport, Buffer]> => {
      const save = at(`${name}-${size}.safetensors`)
      const reports = (await trainOnRanks(size, () => options({ ...more, save }))).map(must)
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

const rowClassifier = model({
  name: 'rows',
  input: [1, 3, 64, 32],
  layers: [
    conv2d({ out: 4, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 2 }),
    conv2d({ out: 8, k: 3, p: 1 }),
    relu,
    globalAvgPool,
    linear({ out: 2 })
  ]
})

const rowOptions = (more: Partial<TrainOptions> = {}): TrainOptions =>
  options({ model: rowClassifier, device: 'reference', accumulate: 2, budget: '60%', clipNorm: 0.5, ...more })

const rowSegmenter = model({
  name: 'pixels',
  input: [1, 3, 24, 16],
  layers: [
    conv2d({ out: 8, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 3, s: 1, p: 1 }),
    conv2d({ out: 8, k: 5, p: 2 }),
    relu,
    conv2d({ out: 3, k: 1 })
  ]
})

const assertCloseLosses = (losses: readonly number[], expected: readonly number[]): void => {
  assert.is(losses.length, expected.length)
  losses.forEach((loss, step) =>
    assert.ok(Math.abs(loss - expected[step]!) <= 1e-12 * Math.abs(expected[step]!), `step ${step + 1}: ${loss} is not ${expected[step]}`)
  )
}

test('ranks that share rows train as one process does, in a part of its memory', async () => {
  const one = must(await train(rowOptions({ steps: 4 }))())
  for (const size of [2, 3, 4]) {
    const reports = (await trainOnRanks(size, () => rowOptions({ steps: 4, shardRows: true }))).map(must)
    for (const { loss, predictedPeakBytes } of reports) {
      assert.equal(loss, reports[0]!.loss)
      assertCloseLosses(loss, one.loss)
      assert.ok(predictedPeakBytes < one.predictedPeakBytes, `${predictedPeakBytes} is not less than ${one.predictedPeakBytes}`)
    }
  }
})

const unequalRows = model({
  name: 'unequal',
  input: [1, 3, 37, 16],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, conv2d({ out: 8, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
})

test('a budget trains that fits the rank of most rows', async () => {
  // Of 37 rows the first rank has 19 and the second 18, whose plan of 68416 bytes needs 71360 on
  // the first.
  const reports = (await trainOnRanks(2, () => rowOptions({ model: unequalRows, steps: 1, budget: 70_000, shardRows: true }))).map(must)
  for (const { predictedPeakBytes } of reports) assert.ok(predictedPeakBytes <= 70_000, `${predictedPeakBytes}`)
})

test('a plan that does not fit another rank is followed by one for that rank', async () => {
  // Of 13 rows the first rank has 7. 88 % of what the plain step of the second one takes is less
  // than its part of the first one's plan.
  const layers = [conv2d({ out: 8, k: 2, p: 1 }), relu, conv2d({ out: 8, k: 4, p: 2 }), relu, conv2d({ out: 3, k: 1 })] as const
  const few = model({ name: 'few', input: [1, 3, 13, 16], layers })
  const more = { model: few, data: at('masks/masks.csv'), steps: 2 }
  const one = must(await train(rowOptions({ ...more, budget: '100%' }))())
  const reports = (await trainOnRanks(2, () => rowOptions({ ...more, budget: '88%', shardRows: true }))).map(must)
  for (const { loss } of reports) assertCloseLosses(loss, one.loss)
})

test('ranks that share rows train on masks as one process does', async () => {
  const more = { model: rowSegmenter, data: at('masks/masks.csv'), classWeights: 'balanced', steps: 3, budget: '100%' }
  const one = must(await train(rowOptions(more))())
  for (const size of [2, 4]) {
    const [report] = (await trainOnRanks(size, () => rowOptions({ ...more, shardRows: true }))).map(must)
    assertCloseLosses(report!.loss, one.loss)
  }
})

test('a training of shared rows goes on on another number of ranks', async () => {
  const whole = must(await train(rowOptions({ steps: 6 }))())
  const stateOf = (steps: number) => ({ steps, state: at('rows-state'), resume: true, shardRows: true })
  for (const [index, size] of [3, 1, 2].entries()) {
    const [report] = (await trainOnRanks(size, () => rowOptions(stateOf(2 * (index + 1))))).map(must)
    assertCloseLosses(report!.loss, whole.loss.slice(0, 2 * (index + 1)))
  }
})

test('one process shares no rows', async () => {
  const [failure] = failuresOf([await train(rowOptions({ shardRows: true }))()])
  assert.is(
    failure!.message,
    '--shard-rows shares rows among the processes that mpirun starts, and this one is alone: start it with mpirun'
  )
})

const failuresOf = (ended: readonly E.Either<Failure, TrainReport>[]): readonly Failure[] =>
  ended.map((one) => {
    if (E.isRight(one)) throw new Error('unexpected success')
    return one.left
  })

for (const [what, size, of, sentence] of [
  [
    'an option that differs',
    2,
    (rank: number) => options({ lr: rank === 1 ? 0.2 : 0.1 }),
    'rank 1 has --lr 0.2 where rank 0 has 0.1: start all ranks with the same options, data and build'
  ],
  [
    'data that differ',
    3,
    (rank: number) => options({ accumulate: 3, data: at(rank === 2 ? 'fewer' : 'images') }),
    /^rank 2 has --data 8 images of hash \w+ where rank 0 has 12 images of hash \w+: start all ranks with the same options, data and build$/
  ],
  ['a rank without its data', 2, (rank: number) => options({ data: at(rank === 1 ? 'nowhere' : 'images') }), /^rank 1: .*nowhere/],
  [
    'micro-batches that cannot be shared',
    3,
    () => options(),
    '3 ranks share the micro-batches of an update: give --accumulate 3, or a multiple of it, in place of 4'
  ],
  ['rows and a validation', 2, () => rowOptions({ shardRows: true, validation: 0.5 }), /^--validation is not for --shard-rows yet/],
  [
    'rows that are normalised together',
    2,
    () => options({ shardRows: true }),
    /^classifier: 1 \(batchNorm\) needs statistics of whole images, which ranks that share rows do not gather yet/
  ],
  [
    'rows that fit no rank',
    2,
    () => rowOptions({ shardRows: true, budget: 1000 }),
    /^rows on 1x3x64x32 does not fit the budget of 1000 bytes/
  ],
  ['a budget that nothing fits', 2, () => options({ budget: 1000 }), /^classifier on 2x3x32x32 does not fit the budget of 1000 bytes/],
  ['a loss that is not finite', 2, () => options({ lr: 1e30, steps: 50 }), /^the loss is .* at step/]
] as const)
  test(`${what}: one sentence on all ranks`, async () => {
    if (what === 'data that differ') await writeImages(at('fewer'), 4)
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
  assert.is(
    messageOf({ PMI_RANK: '0', PMI_SIZE: '2', PMI_FD: '987' }),
    "the launcher's connection (PMI_FD 987) is closed, as npx does with it: start node_modules/.bin/tilefold in place of npx tilefold"
  )
})

const mpirun = ['mpirun.openmpi', 'mpirun'].find((name) =>
  /Open MPI/.test(spawnSync(name, ['--version'], { encoding: 'utf8' }).stdout ?? '')
)
if (mpirun === undefined) console.log("tests of Open MPI's launcher are skipped: there is no mpirun; install openmpi-bin")
const withLauncher = mpirun === undefined ? test.skip : test

const command = compiledCommand()
const trainOf = (...more: readonly string[]): readonly string[] => [
  ...[command.script, 'train', command.model, '--data', at('images'), '--accumulate', '4', '--threads', '1', '--quiet', '--json'],
  ...more
]

/** Runs the command on so many ranks, which Open MPI starts. */
const launch = (
  size: number,
  args: readonly string[],
  onStart: (launcher: ChildProcess) => void = () => undefined,
  environment: Readonly<Record<string, string>> = {}
): Promise<Ended & { readonly milliseconds: number }> =>
  new Promise((resolve, reject) => {
    const started = performance.now()
    const asRoot = process.getuid?.() === 0 ? ['--allow-run-as-root'] : []
    const child = spawn(mpirun!, [...asRoot, '--oversubscribe', '--bind-to', 'none', '-n', `${size}`, process.execPath, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment }
    })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, stdout, stderr, milliseconds: performance.now() - started }))
    onStart(child)
  })

/** Processes of the command whose arguments hold a text, launchers aside, by their ids. */
const ranksWith = (text: string): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const [program = '', ...args] = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
        return program === process.execPath && args.some((one) => one.includes(text))
      } catch {
        return false
      }
    })
    .map(Number)

/** The newest state in a folder, by its step; 0 where there is none. */
const newestStep = (state: string): number =>
  existsSync(state) ? Math.max(0, ...readdirSync(state).map((name) => Number(/^step-(\d+)\.safetensors$/.exec(name)?.[1] ?? 0))) : 0

/** Waits until a state of a step or a later one is there, for a minute at most: older ones go. */
const reaches = async (state: string, step: number): Promise<void> => {
  for (let tries = 0; newestStep(state) < step; tries += 1) {
    if (tries > 600) throw new Error(`${state} has no state of step ${step} or later`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

withLauncher('mpirun trains to the same bytes as this process alone, and one rank answers', async () => {
  const weights = async (size: number): Promise<Buffer> => {
    const save = at(`launched-${size}.safetensors`)
    const { status, stdout, stderr } = await launch(size, trainOf('--steps', '3', '--save', save))
    assert.is(status, 0, stderr)
    assert.is(JSON.parse(stdout).steps, 3)
    return readFileSync(save)
  }
  const one = await weights(1)
  assert.ok((await weights(2)).equals(one))
  const alone = spawnSync(process.execPath, trainOf('--steps', '3', '--save', at('alone.safetensors')), { encoding: 'utf8' })
  assert.is(alone.status, 0, alone.stderr)
  // Where nothing is tiled, an update without ranks adds the same micro-batches in the same order.
  assert.ok(readFileSync(at('alone.safetensors')).equals(one))
})

withLauncher('mpirun trains on shared rows as this process does on whole images', async () => {
  const more = ['--steps', '3', '--device', 'reference', '--budget', '70%']
  const alone = spawnSync(process.execPath, trainOf(...more), { encoding: 'utf8' })
  assert.is(alone.status, 0, alone.stderr)
  const { status, stdout, stderr } = await launch(2, trainOf(...more, '--shard-rows'))
  assert.is(status, 0, stderr)
  assertCloseLosses(JSON.parse(stdout).loss, JSON.parse(alone.stdout).loss)
})

withLauncher('under mpirun all ranks end with what one of them fails with, said once', async () => {
  const refused = await launch(3, trainOf('--steps', '2'))
  assert.is(refused.status, 2, refused.stderr)
  assert.is(refused.stderr.split('\n').filter((line) => line.startsWith('3 ranks share the micro-batches')).length, 1, refused.stderr)
  assert.is(JSON.parse(refused.stdout).error.code, 'input')
})

withLauncher('a rank that is killed ends all within seconds, and its training goes on from the last state', async () => {
  const state = at('killed')
  let killed = 0
  const ended = await launch(2, trainOf('--steps', '100000', '--state', state, '--state-every', '2'), () => {
    void reaches(state, 4).then(() => {
      killed = performance.now()
      process.kill(ranksWith(state).at(-1)!, 'SIGKILL')
    })
  })
  assert.is.not(ended.status, 0)
  assert.ok(performance.now() - killed < 20_000)
  assert.equal(ranksWith(state), [])
  const steps = newestStep(state)
  const again = await launch(1, trainOf('--steps', `${steps + 2}`, '--state', state, '--resume'))
  assert.is(again.status, 0, again.stderr)
  assert.is(JSON.parse(again.stdout).steps, steps + 2)
})

withLauncher('a rank that hangs ends all within seconds, and is named', async () => {
  const state = at('hanging')
  let hangs = 0
  const ended = await launch(
    4,
    trainOf('--steps', '100000', '--state', state, '--state-every', '2'),
    () => {
      void reaches(state, 4).then(() => {
        hangs = performance.now()
        process.kill(ranksWith(state)[1]!, 'SIGSTOP')
      })
    },
    { TILEFOLD_RANK_TIMEOUT: '3' }
  )
  assert.is(ended.status, 1, ended.stderr)
  const said = `${ended.stdout}${ended.stderr}`
  // On a busy machine the wait for one rank may end while another one has not begun its own.
  assert.match(said, /rank [0-3]( hangs|.* hang): the others have waited for more than 3 seconds/, said)
  assert.ok(performance.now() - hangs < 20_000)
  // A process that is stopped ends a moment after the launcher, which has killed it.
  for (let tries = 0; tries < 100 && ranksWith(state).length > 0; tries += 1) await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(ranksWith(state), [])
})

withLauncher('a time that ranks are to wait must be one', async () => {
  const ended = await launch(1, trainOf('--steps', '1'), undefined, { TILEFOLD_RANK_TIMEOUT: 'soon' })
  assert.is(ended.status, 2, ended.stderr)
  assert.match(ended.stderr, /TILEFOLD_RANK_TIMEOUT is soon: give the seconds that ranks wait for one that hangs/)
})

withLauncher('SIGTERM to one rank ends all after the same step, with a state', async () => {
  const state = at('terminated')
  const { status, stdout, stderr } = await launch(2, trainOf('--steps', '100000', '--state', state, '--state-every', '3'), () => {
    void reaches(state, 3).then(() => process.kill(ranksWith(state).at(-1)!, 'SIGTERM'))
  })
  assert.is(status, 130, stderr)
  const { message } = JSON.parse(stdout).error
  const [, done] = /^interrupted after (\d+) of 100000 steps; .* holds the state after step \1\.$/.exec(message) ?? []
  assert.ok(done !== undefined, message)
  assert.ok(existsSync(join(state, `step-${done}.safetensors`)))
})

test.run()
