/**
 * States: training goes on with the same bits, under any plan with equal numbers, and never from
 * what it should not.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readDataset } from '../../../src/commands/read-dataset'
import type { Dataset } from '../../../src/datasets/dataset'
import type { Reading } from '../../../src/images/samples'
import type { DecodedTrainOptions } from '../../../src/option-tables/train-options'
import type { TrainingRequest } from '../../../src/training/request'
import { type ResumeFingerprint, resumeFingerprint } from '../../../src/training/state/resume-fingerprint'
import { readState, writeState } from '../../../src/training/state/state'
import type { TrainedChannels } from '../../../src/weights/channel-metadata'
import { openTensorFile, writeTensors } from '../../../src/weights/safetensors'
import { floatTensor } from '../../../src/weights/weights'
import { conv2d, globalAvgPool, linear, model, relu, seq } from '../../../dsl'
import { type Planned, type TrainOptions, train } from '../../../src'
import { buildGraph, graphHash } from '../../../staging'
import { createStepIo } from '../../../native'
import { must } from '../../must'
import { overriding, runScript, tilefold } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { embeddedReport } from '../embedded-report'
import { writeImages } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'
import { weightsOf } from '../weights-of'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const { script, model: modelPath, runInTurn } = compiledCommand()

const training = (...more: readonly string[]): readonly string[] =>
  overriding(
    ['train', modelPath, '--data', at('images'), '--seed', '4', '--lr', '0.05', '--flip', '--threads', '1', '--state-every', '2'],
    more
  )

/** All that changes what a step does. */
const everything = [
  ...['--optimizer', 'adam', '--accumulate', '2', '--clip-norm', '0.5', '--class-weights', '1,2', '--rotate'],
  ...['--colour-jitter', '0.2,0.2,0.2,0.1', '--validation', '0.34', '--validate-every', '3', '--param-group', '5:rate=2,decay=0.01']
]

const states = (name: string): readonly string[] => readdirSync(at(name)).sort()

test.before(() => writeImages(at('images'), 4))

for (const [name, more] of [
  ['plain', []],
  ['with everything', everything]
] as const) {
  test(`training that was cut off goes on to the same bits: ${name}`, async () => {
    const paths = (run: string): readonly string[] => {
      const of = (file: string): string => at(`${name}-${run}.${file}`)
      const best = name === 'plain' ? [] : ['--best', of('best')]
      return ['--state', of('state'), '--save', of('weights'), '--metrics', of('metrics'), ...best]
    }
    const run = async (which: string, ...args: readonly string[]) => {
      const { status, stdout, stderr } = await runScript([script, ...training(...more, ...paths(which), ...args), '--json'])
      assert.is(status, 0, stderr)
      return { report: JSON.parse(stdout), stderr }
    }
    const whole = await run('whole', '--steps', '11')
    const first = await run('parts', '--steps', '4', '--resume')
    assert.match(first.stderr, /plain-parts\.state holds no state: training starts afresh\.\n|everything-parts\.state holds no state/)
    const second = await run('parts', '--steps', '11', '--resume')
    assert.match(second.stderr, /training goes on after step 4, from .*step-4\.safetensors\.\n/)
    assert.is(second.report.steps, 11)
    assert.equal(second.report.loss, whole.report.loss)
    assert.equal(second.report.loss.slice(0, 4), first.report.loss)
    const file = (which: string, kind: string): Buffer => readFileSync(at(`${name}-${which}.${kind}`))
    assert.equal(file('parts', 'weights'), file('whole', 'weights'))
    const untimed = (which: string): readonly object[] =>
      file(which, 'metrics')
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => ({ ...JSON.parse(line), milliseconds: 0 }))
    // A training validates where it ends: the first part after step 4, too.
    assert.equal(
      untimed('parts').filter((line) => !('validation' in line)),
      untimed('whole').filter((line) => !('validation' in line))
    )
    assert.is(untimed('whole').filter((line) => !('validation' in line)).length, 11)
    const third = await run('parts', '--steps', '11', '--resume')
    assert.equal(third.report.loss, whole.report.loss, 'a training that is done has nothing left to do')
    assert.match(third.stderr, /the training is finished after step 11 of 11: .*parts\.weights holds its weights\.\n/)
    assert.equal(file('parts', 'weights'), file('whole', 'weights'))
  })
}

test('a training that is finished says so and changes no file, unless its weights are elsewhere', async () => {
  const files = [
    '--state',
    at('finished'),
    '--save',
    at('finished.weights'),
    '--metrics',
    at('finished.jsonl'),
    '--trace',
    at('finished.json')
  ]
  const run = async (...more: readonly string[]): Promise<string> => {
    const { status, stdout, stderr } = await runInTurn(overriding(training('--steps', '2', ...files), more))
    assert.is(status, 0, stderr)
    return `${stderr}${stdout}`
  }
  await run()
  const contents = (): readonly object[] =>
    [...states('finished').map((name) => `finished/${name}`), 'finished.weights', 'finished.jsonl', 'finished.json'].map((name) => ({
      name,
      bytes: readFileSync(at(name)),
      changed: statSync(at(name)).mtimeMs
    }))
  const before = contents()
  const said = await run('--resume')
  assert.match(said, /the training is finished after step 2 of 2: .*finished\.weights holds its weights\.\n2 steps, .*, loss \S+ to \S+\n$/)
  assert.equal(contents(), before)
  assert.match(await run('--resume', '--steps', '1'), /the training is finished after step 2, where 1 are asked for: /)
  assert.equal(contents(), before)

  const weights = readFileSync(at('finished.weights'))
  await run('--save', at('earlier.weights'), '--state', at('earlier'), '--metrics', at('earlier.jsonl'), '--steps', '1')
  copyFileSync(at('earlier.weights'), at('finished.weights'))
  const written = await run('--resume')
  assert.match(written, /the state is after step 2, and 2 steps are asked for: none is left to run\.\n/)
  assert.not.match(written, /measured/)
  assert.equal(readFileSync(at('finished.weights')), weights)
})

test('a validation that was interrupted is made when training goes on', async () => {
  const options: TrainOptions = {
    model: smallNetwork,
    device: 'cpu',
    threads: 1,
    data: await valueOf(readDataset(at('images'))),
    lr: 0.05,
    seed: 4,
    steps: 4,
    validation: 0.34,
    validateEvery: 2
  }
  const ofWhole = await valueOf(train({ ...options, best: at('whole.best') }))
  assert.equal(
    ofWhole.validations?.map(({ step }) => step),
    [2, 4]
  )
  for (const last of [2, 4]) {
    const controller = new AbortController()
    const onStep = ({ step }: { readonly step: number }) => step + 1 === last && controller.abort()
    const kept = { ...options, state: at(`validation-${last}`), best: at(`validation-${last}.best`) }
    const { code } = await failureOf(train({ ...kept, signal: controller.signal, onStep }))
    assert.is(code, 'interrupted')
    const { validations } = await valueOf(train({ ...kept, resume: true }))
    assert.equal(validations, ofWhole.validations)
    assert.equal(await weightsOf(kept.best), await weightsOf(at('whole.best')))
  }
})

test('a folder of states that is gone is not said to hold any', async () => {
  const options: TrainOptions = { model: smallNetwork, device: 'cpu', threads: 1, data: at('images'), lr: 0.05, seed: 4, steps: 3 }
  const onStep = ({ step }: { readonly step: number }): void => (step === 1 ? rmSync(at('vanished'), { recursive: true }) : undefined)
  const { message } = await failureOf(train({ ...options, state: at('vanished'), stateEvery: 1, onStep }))
  assert.match(message, /^\S+vanished\/step-2\.safetensors: cannot be written \(no such file or directory\)$/)
})

test('best weights that could not be written are written where training goes on', async () => {
  const options: TrainOptions = { model: smallNetwork, device: 'cpu', threads: 1, data: at('images'), lr: 0.05, seed: 4, steps: 2 }
  const validated = { ...options, validation: 0.34, validateEvery: 1 }
  const { best } = await valueOf(train({ ...validated, best: at('best-of-two') }))
  assert.is(best?.step, 2)
  mkdirSync(at('place'))
  const kept = { ...validated, state: at('best-late'), best: at('place/best') }
  const onStep = ({ step }: { readonly step: number }): void => (step === 1 ? renameSync(at('place'), at('moved')) : undefined)
  assert.match(
    (await failureOf(train({ ...kept, onStep }))).message,
    /place\/best: cannot be written .*best-late holds the state after step 2/
  )
  renameSync(at('moved'), at('place'))
  assert.not.equal(await weightsOf(kept.best), await weightsOf(at('best-of-two')))
  await valueOf(train({ ...kept, resume: true, onNotice: (sentence) => assert.not.match(sentence, /best is not|best holds/) }))
  assert.equal(await weightsOf(kept.best), await weightsOf(at('best-of-two')))
})

test('where the best weights so far are in no file of that name, training that goes on says so', async () => {
  const options: TrainOptions = { model: smallNetwork, device: 'cpu', threads: 1, data: at('images'), seed: 4, validation: 0.34 }
  const notices = async (more: Partial<TrainOptions>): Promise<readonly string[]> => {
    const told: string[] = []
    await valueOf(train({ ...options, state: at('best-lost'), resume: true, ...more, onNotice: (sentence) => told.push(sentence) }))
    return told.filter((sentence) => sentence.includes('.best'))
  }
  assert.equal(await notices({ steps: 1 }), [])
  const sentence = `${at('late.best')} is not there: it is written where a validation is better than that after step 1, whose weights it would hold`
  // A learning rate of almost nothing makes nothing better.
  assert.equal(await notices({ steps: 2, lr: 1e-300 }), [])
  assert.equal(await notices({ steps: 3, lr: 1e-300, best: at('late.best') }), [sentence])
})

test('training that goes on by another --best-by says what the best weights so far are the best of', async () => {
  const best = at('other.best')
  const options: TrainOptions = { model: smallNetwork, device: 'cpu', threads: 1, data: at('images'), seed: 4, validation: 0.34, best }
  const run = async (more: Partial<TrainOptions>) => {
    const told: string[] = []
    const going = { ...options, validateEvery: 1, state: at('other-best'), resume: true, onNotice: (said: string) => void told.push(said) }
    const { validations } = await valueOf(train({ ...going, ...more }))
    return { told: told.filter((sentence) => /^--best-by|best loss/.test(sentence)), validations: validations! }
  }
  // The loss falls from step to step, while of equal accuracies the first stays the best.
  const { validations } = await run({ steps: 3, lr: 1e-4 })
  assert.is(validations.at(-1)!.loss, Math.min(...validations.map(({ loss }) => loss)))
  assert.is(new Set(validations.map(({ accuracy }) => accuracy)).size, 1)
  const held = await weightsOf(best)
  const { told } = await run({ steps: 4, lr: 1e-300, bestBy: 'accuracy' })
  assert.equal(told, [
    '--best-by is accuracy from here on; it was loss',
    `${best} holds the weights of the best loss, after step 3: it is written where a validation is better than that after step 1, whose weights it would hold`
  ])
  assert.equal(await weightsOf(best), held)
  assert.equal((await run({ steps: 5, lr: 1e-300, bestBy: 'accuracy' })).told, [])
})

test('a layer may be called as the optimizer calls its buffers', async () => {
  const layers = [
    conv2d({ out: 4, k: 3, p: 1 }),
    relu,
    seq('velocity', [conv2d({ out: 4, k: 3, p: 1 }), relu]),
    globalAvgPool,
    linear({ out: 2 })
  ]
  const named = model({ name: 'named', input: [2, 3, 16, 16], layers })
  const options: TrainOptions = { model: named, device: 'cpu', threads: 1, data: at('images'), lr: 0.05, seed: 4 }
  await valueOf(train({ ...options, steps: 4, save: at('named') }))
  for (const steps of [2, 4]) await valueOf(train({ ...options, steps, resume: true, state: at('named.state'), save: at('named.parts') }))
  const weights = await weightsOf(at('named'))
  assert.equal(await weightsOf(at('named.parts')), weights)
  assert.ok(weights.get('velocity.0.weight')!.every((value) => value !== 0))
  const { tensors } = await valueOf(openTensorFile(at('named.state/step-4.safetensors')))
  assert.is(tensors.size, 2 * weights.size + 4)
})

test('two states are kept, and every tensor of the optimizer is in them', async () => {
  const { status, stderr } = await runInTurn(training('--steps', '7', '--state', at('kept')))
  assert.is(status, 0, stderr)
  assert.equal(states('kept'), ['step-6.safetensors', 'step-7.safetensors'])
  const { tensors } = await valueOf(openTensorFile(at('kept/step-7.safetensors')))
  const parameters = ['0.weight', '0.bias', '5.weight', '5.bias']
  assert.equal(
    [...tensors.keys()],
    [
      ...[...parameters, ...parameters.map((name) => `velocity.${name}`)],
      ...['loss', 'stepMs', 'learningRate', 'validations'].map((name) => `training.${name}`)
    ]
  )
})

test('what a state must have in common with the training that goes on has an entry for each option', () => {
  const graph = must(buildGraph(smallNetwork, [2, 3, 32, 32]))
  const optimizer = { kind: 'sgd', momentum: 0.9, weightDecay: 0 } as const
  const data: Dataset = { examples: [{ path: 'a.png', label: 1, origin: 'here' }], classes: 2 }
  const plain: Partial<DecodedTrainOptions> = { seed: 4, accumulate: 1 }
  const fingerprint = (options: Partial<DecodedTrainOptions>, resolution: Reading, validation?: Dataset, channels?: TrainedChannels) =>
    // Of what is planned and asked for, this alone is looked at.
    resumeFingerprint(
      { options: { ...plain, ...options }, objective: { kind: 'train', optimizer }, resolution } as TrainingRequest,
      { staged: { graph, sourceGraph: graph } } as Planned,
      { training: data, validation },
      channels
    )
  const hashes = { layers: graphHash(graph).slice(0, 12), data: '1 images of hash' }
  const withoutHashes = ({ data: text, ...rest }: ResumeFingerprint): ResumeFingerprint => ({
    ...rest,
    data: text!.replace(/ [0-9a-f]{12}$/, '')
  })
  const least = { ...hashes, model: 'small', input: '2x3x32x32', optimizer: 'kind "sgd" momentum 0.9 weightDecay 0', seed: '4' }
  assert.equal(withoutHashes(fingerprint({}, { level: 0 })), least)
  const jitter = { brightness: 0.1, contrast: 0.2, saturation: 0.3, hue: 0.4 }
  const all: Partial<DecodedTrainOptions> = {
    ...{ accumulate: 2, clipNorm: 1, classWeights: 'balanced', freeze: ['0'], paramGroup: [{ prefix: '4', rate: 2 }] },
    ...{ tissue: true, annotated: true, balanced: true, flip: true, rotate: true },
    ...{ colourJitter: jitter, stainJitter: { scale: 0.1, shift: 0.2 } }
  }
  const channels = { bands: [1], mean: [0], deviation: [1] }
  const { validation, mpp, ...most } = withoutHashes(fingerprint(all, { micronsPerPixel: 0.5 }, data, channels))
  assert.equal(most, {
    ...{ ...least, accumulate: '2', 'clip-norm': '1', 'class-weights': 'balanced', freeze: '["0"]', group: '[{"prefix":"4","rate":2}]' },
    ...{ tissue: 'on', annotated: 'on', balanced: 'on', flip: 'on', rotate: 'on', channels: 'bands [1] mean [0] deviation [1]' },
    'colour-jitter': 'brightness 0.1 contrast 0.2 saturation 0.3 hue 0.4',
    'stain-jitter': 'scale 0.1 shift 0.2'
  })
  assert.match(validation!, /^1 images of hash [0-9a-f]{12}$/)
  assert.is(mpp, '0.5')
  assert.equal(withoutHashes(fingerprint({}, { level: 1 })), { ...least, level: '1' })
})

const refused: readonly (readonly [name: string, args: readonly string[], sentence: RegExp])[] = [
  ['without --resume', [], /kept holds the state after step 7: give --resume to go on from it, or another folder\.$/],
  [
    'another seed',
    ['--resume', '--seed', '5'],
    /--seed was 4 in the training that it holds and is 5 now: give the same, or another folder\.$/
  ],
  ['another optimizer', ['--resume', '--optimizer', 'adam'], /--optimizer was kind "sgd" momentum 0\.9 .* and is kind "adam"/],
  ['another momentum', ['--resume', '--momentum', '0.5'], /--optimizer was .*momentum 0\.9 .* is .*momentum 0\.5/],
  ['another input', ['--resume', '--crop', '24x16'], /--input was 2x3x16x16 .* is 2x3x24x16/],
  ['another model', ['--resume', '--input', '2x3x32x32'], /the model was small .* and is vgg11 now/],
  ['a limit of gradients', ['--resume', '--clip-norm', '1'], /--clip-norm was none .* and is 1 now/],
  ['frozen layers', ['--resume', '--freeze', '0'], /--freeze was none .* and is \["0"\] now/],
  ['accumulation', ['--resume', '--accumulate', '2'], /--accumulate was none .* and is 2 now/],
  ['a rotation', ['--resume', '--rotate'], /--rotate was none .* and is on now/],
  ['no flips', ['--resume'], /--flip was on .* and is none now/],
  [
    'other data',
    ['--resume', '--validation', '0.25'],
    /--data was 8 images of hash [0-9a-f]{12} .* and is 6 images .*, --validation was none and is 2 images/
  ],
  [
    'other channels',
    ['--resume', '--mean', '0,0,0', '--deviation', '1,1,1'],
    /what --bands, --mean and --deviation say was none .* and is mean/
  ]
]
for (const [name, args, sentence] of refused) {
  test(`a state is refused: ${name}`, async () => {
    const command = training('--steps', '9', '--state', at('kept'), ...args)
    const withoutFlips = command.filter((word) => name !== 'no flips' || word !== '--flip')
    const { status, stderr } = await runInTurn(name === 'another model' ? [command[0]!, 'vgg11', ...command.slice(2)] : withoutFlips)
    assert.is(status, 2, stderr)
    assert.match(stderr.trimEnd().split('\n').at(-1)!, sentence)
    assert.equal(states('kept'), ['step-6.safetensors', 'step-7.safetensors'])
  })
}

test('a state is refused where a class was renamed, so that another has its number, though their files have the same names', async () => {
  cpSync(at('images/light'), at('renamed/light'), { recursive: true })
  cpSync(at('images/dark'), at('renamed/shadow'), { recursive: true })
  const { status, stderr } = await runInTurn(training('--steps', '9', '--state', at('kept'), '--resume', '--data', at('renamed')))
  assert.is(status, 2, stderr)
  assert.match(stderr, /the list of classes was \["dark","light"\] in the training that it holds and is \["light","shadow"\] now: give/)
})

test('a file among states whose number has zeros in front is none of them', async () => {
  cpSync(at('kept'), at('padded'), { recursive: true })
  copyFileSync(at('kept/step-7.safetensors'), at('padded/step-0007.safetensors'))
  const { status, stderr } = await runInTurn(training('--steps', '9', '--state', at('padded'), '--resume'))
  assert.is(status, 0, stderr)
  assert.equal(states('padded'), ['step-0007.safetensors', 'step-8.safetensors', 'step-9.safetensors'])
})

test('a learning rate may be chosen anew, and that is said', async () => {
  cpSync(at('kept'), at('slower'), { recursive: true })
  const [page, slower] = [at('slower.html'), ['--state', at('slower'), '--resume', '--lr', '0.01', '--report', at('slower.html')]]
  const { status, stderr } = await tilefold(training('--steps', '8', ...slower))
  assert.is(status, 0, stderr)
  const ratesOnPage = () => embeddedReport(page).charts.find(({ title }) => title === 'Learning rate')!.lines[0]!
  assert.equal(ratesOnPage().y, [...Array<number>(7).fill(0.05), 0.01])
  // Those of an earlier version's state are not known; its validations were in the metadata.
  const { path, tensors, metadata } = await valueOf(openTensorFile(at('slower/step-8.safetensors')))
  const kept = [...tensors].filter(([name]) => !['training.learningRate', 'training.validations'].includes(name))
  const values = await weightsOf(path)
  await valueOf(
    writeTensors(
      path,
      kept.map(([name, { shape }]) => floatTensor(name, shape, values.get(name)!)),
      { tilefold: JSON.stringify({ ...JSON.parse(metadata.tilefold!), validations: [{ step: 8, loss: 0.5 }] }) }
    )
  )
  assert.equal((await valueOf(readState(path))).record.validations, [{ step: 8, loss: 0.5 }])
  assert.is((await tilefold(training('--steps', '9', ...slower))).status, 0)
  assert.equal([ratesOnPage().x, ratesOnPage().y], [[9], [0.01]])
  assert.match(stderr, /--lr is 0\.01 from here on; it was 0\.05\.\n/)
})

test('another precision is said', async () => {
  cpSync(at('kept'), at('precise'), { recursive: true })
  const args = (steps: string) => training('--steps', steps, '--state', at('precise'), '--resume')
  const { status, stderr } = await runInTurn([...args('8'), '--precision', 'bf16'])
  assert.is(status, 0, stderr)
  assert.match(stderr, /--precision is bf16 from here on; it was float32\.\n/)
  assert.not.match((await runInTurn([...args('9'), '--precision', 'bf16'])).stderr, /from here on/)
  assert.match((await runInTurn(args('10'))).stderr, /--precision is float32 from here on; it was bf16\.\n/)
})

test('where the disk has lost the newest state, the one before is taken; with none left, a sentence', async () => {
  cpSync(at('kept'), at('damaged'), { recursive: true })
  truncateSync(at('damaged/step-7.safetensors'), 700)
  const { status, stderr } = await runInTurn(training('--steps', '7', '--state', at('damaged'), '--resume', '--save', at('mended')))
  assert.is(status, 0, stderr)
  assert.match(stderr, /step-7\.safetensors: .*; the state after step 6 is taken\.\n/)
  await runInTurn(training('--steps', '7', '--state', at('kept'), '--resume', '--save', at('unharmed')))
  assert.equal(readFileSync(at('mended')), readFileSync(at('unharmed')))
  for (const name of states('damaged')) writeFileSync(at(`damaged/${name}`), 'what is this')
  const lost = await runInTurn(training('--steps', '7', '--state', at('damaged'), '--resume'))
  assert.is(lost.status, 2)
  assert.match(lost.stderr, /step-6\.safetensors: its header claims .*: no state in .*damaged can be read; give another folder\.\n$/)
})

test('a state in which the disk has flipped a bit is not taken, unless an earlier version wrote it without a checksum', async () => {
  cpSync(at('kept'), at('flipped'), { recursive: true })
  const path = at('flipped/step-7.safetensors')
  const { tensors, metadata } = await valueOf(openTensorFile(path))
  assert.match(metadata.crc32!, /^[0-9a-f]{8}$/)
  for (const { offset, bytes } of [...tensors.values()].reverse()) {
    const flipped = readFileSync(path)
    flipped[offset + bytes - 1]! ^= 1
    writeFileSync(at('flipped/one'), flipped)
    assert.match(
      (await failureOf(readState(at('flipped/one')))).message,
      new RegExp(`one: is damaged: its tensors have the CRC-32 [0-9a-f]{8}, and had ${metadata.crc32} when they were written$`)
    )
  }
  copyFileSync(at('flipped/one'), path)
  const { status, stderr } = await runInTurn(training('--steps', '7', '--state', at('flipped'), '--resume', '--save', at('unflipped')))
  assert.is(status, 0, stderr)
  assert.match(stderr, /step-7\.safetensors: is damaged: .* when they were written; the state after step 6 is taken\.\n/)
  assert.equal(await weightsOf(at('unflipped')), await weightsOf(at('unharmed')))
  const earlier = readFileSync(at('flipped/one'))
  writeFileSync(at('flipped/one'), Buffer.from(earlier.toString('latin1').replace('"crc32"', '"crc16"'), 'latin1'))
  await valueOf(readState(at('flipped/one')))
})

/** A safetensors file again, with other words in its header; tensors stay where they are. */
const withHeader = (path: string, change: (header: string) => string): void => {
  const bytes = readFileSync(path)
  const end = 8 + Number(bytes.readBigUInt64LE())
  const header = Buffer.from(change(bytes.toString('utf8', 8, end)))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  writeFileSync(path, Buffer.concat([length, header, bytes.subarray(end)]))
}

test('a state that says more steps than it holds is damaged like others, and no room is made for them', async () => {
  cpSync(at('kept'), at('boasting'), { recursive: true })
  const boast = (header: string): string => header.replace('\\"steps\\":7', '\\"steps\\":1000000000000000')
  withHeader(at('boasting/step-7.safetensors'), boast)
  const { status, stderr } = await runInTurn(training('--steps', '7', '--state', at('boasting'), '--resume'))
  assert.is(status, 0, stderr)
  const sentence = 'is damaged: its metadata say 1000000000000000 steps, and it has no training.loss of as many'
  assert.match(stderr, `step-7.safetensors: ${sentence}; the state after step 6 is taken.\n`)
})

test('a state is read again whatever its validations hold, which a header would be too short for', async () => {
  mkdirSync(at('validated'))
  const row = Array<number>(256).fill(123_456)
  const validations = [1, 2].map((step) => ({ step, loss: step / 3, auc: null, confusion: Array<number[]>(256).fill(row) }))
  const record = { loss: [0.5, 0.25], stepMs: [1, 2], learningRate: [0.1, null], validations }
  const section = { code: [], stepIoBytes: 0, stepIo: [] }
  await valueOf(writeState(at('validated'), { section, io: createStepIo(section), record, fingerprint: {}, rates: {} }))
  assert.ok(readFileSync(at('validated/step-2.safetensors')).readBigUInt64LE() < 1000n)
  assert.equal((await valueOf(readState(at('validated/step-2.safetensors')))).record, record)
})

test('a safetensors file that is no state is no state', async () => {
  copyFileSync(at('unharmed'), at('damaged/step-9.safetensors'))
  for (const name of ['step-6', 'step-7']) copyFileSync(at('unharmed'), at(`damaged/${name}.safetensors`))
  const { status, stderr } = await runInTurn(training('--steps', '7', '--state', at('damaged'), '--resume'))
  assert.is(status, 2)
  assert.match(
    stderr,
    /step-6\.safetensors: is no state of a training; its metadata say something else: no state in .* can be read; give another folder\.\n$/
  )
})

test('what a killed process left half written is removed; what a living one writes is not', async () => {
  cpSync(at('kept'), at('cleaned'), { recursive: true })
  // No process has a number beyond 2^22.
  writeFileSync(at('cleaned/step-9.safetensors.4194999.tmp'), 'half')
  writeFileSync(at(`cleaned/step-9.safetensors.${process.pid}.tmp`), 'half')
  writeFileSync(at('cleaned/notes.4194999.tmp'), 'not ours')
  const { status, stderr } = await runInTurn(training('--steps', '7', '--state', at('cleaned'), '--resume'))
  assert.is(status, 0, stderr)
  assert.not.ok(existsSync(at('cleaned/step-9.safetensors.4194999.tmp')))
  assert.ok(existsSync(at(`cleaned/step-9.safetensors.${process.pid}.tmp`)) && existsSync(at('cleaned/notes.4194999.tmp')))
})

const largestDifference = (a: ReadonlyMap<string, Float64Array>, b: ReadonlyMap<string, Float64Array>): number =>
  Math.max(...[...a].map(([name, values]) => Math.max(...values.map((value, index) => Math.abs(value - b.get(name)![index]!)))))

test('under another budget, strategy and tiling, and on another device, training goes on with equal numbers', async () => {
  const options: TrainOptions = {
    model: smallNetwork,
    device: 'reference',
    threads: 1,
    strategy: 'plain',
    data: await valueOf(readDataset(at('images'))),
    optimizer: 'adam',
    lr: 0.01,
    seed: 3,
    flip: true,
    steps: 8
  }
  await valueOf(train({ ...options, save: at('once') }))
  await valueOf(train({ ...options, steps: 4, state: at('moved') }))
  const whole = await weightsOf(at('once'))
  for (const [name, other, tolerance] of [
    ['chen', { strategy: 'chen' }, 1e-12],
    ['sft', { strategy: 'sft', budget: { kind: 'ofPlain', fraction: 0.3 } }, 1e-12],
    ['cpu', { device: 'cpu', strategy: 'sft' }, 1e-4]
  ] as const) {
    cpSync(at('moved'), at(`moved-${name}`), { recursive: true })
    let planned: Planned | undefined
    const onPlan = (made: Planned) => void (planned = made)
    const { loss } = await valueOf(
      train({ ...options, ...other, onPlan, state: at(`moved-${name}`), resume: true, save: at(`${name}.out`) })
    )
    if (name === 'sft') assert.ok(planned!.staged.plan.segments.some(({ grid }) => grid.H * grid.W > 1))
    assert.is(loss.length, 8)
    const difference = largestDifference(whole, await weightsOf(at(`${name}.out`)))
    assert.ok(difference < tolerance, `${name}: ${difference}`)
  }
  const { message } = await failureOf(train({ ...options, resume: true }))
  assert.is(message, '--resume needs --state: give both')
})

test.run()
