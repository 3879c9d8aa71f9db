/**
 * What a training writes: never over what is read, never where another one writes, and all that was
 * learnt when it ends early.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type Outcome,
  bench,
  chain,
  explain,
  gradients,
  offload,
  place,
  plan,
  predict,
  profile,
  readDataset,
  train,
  writeTensorFile,
  type TrainOptions
} from '../../../src'
import { conv2d, model } from '../../../dsl'
import { openTensorFile } from '../../../src/weights/safetensors'
import { type FileLock, lockFile, unlockFile } from '../../../native'
import { must } from '../../must'
import { compiledCommand } from '../compiled-command'
import { runScript } from '../command-line'
import { writeImages, writeMasks } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'
import { weightsOf } from '../weights-of'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const { script, model: modelFile, smallModel } = compiledCommand()

const options = (more: Partial<TrainOptions> = {}): TrainOptions => ({
  model: smallNetwork,
  data: at('images'),
  input: [2, 3, 16, 16],
  device: 'reference',
  threads: 1,
  lr: 0.05,
  seed: 3,
  steps: 6,
  ...more
})

test.before(async () => {
  await writeImages(at('images'), 4)
  await writeMasks(folder)
  const rows = ['dark/0', 'dark/1', 'light/0', 'light/1'].map((name, index) => `images/${name}.png,${index < 2 ? 0 : 1}\n`)
  writeFileSync(at('data.csv'), rows.join(''))
  writeFileSync(at('buffers.csv'), 'a,0,2,100\n')
  await valueOf(train(options({ steps: 1, save: at('weights') })))
  await valueOf(train(options({ steps: 1, model: segmenting, data: at('masks.csv'), input: [2, 3, 32, 32], save: at('pixels') })))
})

test('a pipe is no place for what is written, and is not waited for', async () => {
  for (const option of ['save', 'best', 'report', 'trace'] as const) {
    const path = at(`pipe-${option}`)
    execFileSync('mkfifo', [path])
    const validation = option === 'best' ? { validation: 0.5 } : {}
    const { message } = await failureOf(train(options({ steps: 1, ...validation, [option]: path })))
    assert.is(message, `${path}: cannot be written (it is no ordinary file)`)
  }
})

test('a file of another kind is not replaced; what was written before is, and so is an empty file', async () => {
  const wrong = [
    ['save', 'safetensors', 'note.txt'],
    ['best', 'safetensors', 'page.html'],
    ['report', 'report', 'note.txt'],
    ['trace', 'trace', 'page.html']
  ] as const
  writeFileSync(at('note.txt'), 'a note that is longer than what is looked at')
  writeFileSync(at('page.html'), '<!doctype html>')
  for (const [option, kind, name] of wrong) {
    const before = readFileSync(at(name), 'utf8')
    const validation = option === 'best' ? { validation: 0.5 } : {}
    const { code, message } = await failureOf(train(options({ steps: 1, ...validation, [option]: at(name) })))
    assert.is(message, `--${option} ${at(name)}: a file that is no ${kind} is there: give another name, or remove it`)
    assert.is(code, 'input')
    assert.is(readFileSync(at(name), 'utf8'), before)
  }
  assert.match(
    (await failureOf(plan({ model: smallNetwork, device: 'reference', trace: at('page.html') }))).message,
    /^--trace .* no trace/
  )
  const beside = [
    ['--program', 'Program', (path: string) => plan({ model: smallNetwork, device: 'reference', program: path })],
    ['--out', 'safetensors', (path: string) => gradients({ model: smallNetwork, weights: at('weights'), batch: at('weights'), out: path })],
    [
      '--per-image',
      'table of --per-image',
      (path: string) => train(options({ model: segmenting, data: at('masks.csv'), validation: at('masks.csv'), perImage: path }))
    ]
  ] as const
  for (const [option, kind, write] of beside) {
    const { message } = await failureOf(write(at('note.txt')))
    assert.is(message, `${option} ${at('note.txt')}: a file that is no ${kind} is there: give another name, or remove it`)
  }
  const elsewhere = [
    ['save', 'model.pth', 'safetensors, not as .pth: name it *.safetensors'],
    ['report', 'page.pdf', 'HTML, not as .pdf: name it *.html'],
    ['report', 'page.json', 'HTML, not as .json: name it *.html'],
    ['trace', 'run.html', 'JSON, not as .html: name it *.json']
  ] as const
  for (const [option, name, sentence] of elsewhere)
    assert.is(
      (await failureOf(train(options({ steps: 1, [option]: at(name) })))).message,
      `--${option} ${at(name)}: it is written as ${sentence}`
    )
  writeFileSync(at('empty.safetensors'), '')
  const written = { save: at('empty.safetensors'), report: at('page.html'), trace: at('run.json') }
  for (let run = 0; run < 2; run += 1) await valueOf(train(options({ steps: 1, ...written })))
})

test('outputs over inputs are refused, and the inputs stay as they are', async () => {
  linkSync(at('images', 'dark', '0.png'), at('hard.png'))
  symlinkSync(at('data.csv'), at('soft'))
  await valueOf(plan({ model: smallNetwork, out: at('small.json') }))
  await valueOf(chain({ model: smallNetwork, out: at('chain.json') }))
  const batch = at('batch')
  await valueOf(
    writeTensorFile(batch, [
      { name: 'input', type: 'F32', shape: [1, 3, 16, 16], data: new Float32Array(3 * 16 * 16) },
      { name: 'target', type: 'I64', shape: [1], data: BigInt64Array.of(0n) }
    ])
  )
  const csv = options({ data: at('data.csv') })
  const masks = options({ model: segmenting, data: at('masks.csv') })
  const [image, weights] = [at('tissue.png'), at('weights')]
  const cases = [
    ['--out', 'the model', 'small.js', (path: string) => plan({ model: path, out: path })],
    ['--out', '--plan', 'small.json', (path: string) => plan({ model: smallNetwork, plan: path, out: path })],
    ['--out', 'the model', 'small.js', (path: string) => chain({ model: path, out: path })],
    ['--out', 'the file', 'buffers.csv', (path: string) => place({ file: path, out: path })],
    ['--out', '--image', 'tissue.png', (path: string) => predict({ model: segmenting, weights: at('pixels'), image: path, out: path })],
    ['--out', '--weights', 'pixels', (path: string) => predict({ model: segmenting, weights: path, image, out: path })],
    ['--out', '--weights', 'weights', (path: string) => gradients({ model: smallNetwork, weights: path, batch, out: path })],
    ['--out', '--batch', 'batch', (path: string) => gradients({ model: smallNetwork, weights, batch: path, out: path })],
    ['--save', '--data', 'data.csv', (path: string) => train({ ...csv, save: path })],
    ['--save', '--data', 'soft', (path: string) => train({ ...csv, save: path })],
    ['--metrics', '--data', 'data.csv', (path: string) => train({ ...csv, metrics: path })],
    ['--save', '--validation', 'data.csv', (path: string) => train(options({ validation: path, save: path }))],
    ['--save', 'an image of --data,', 'images/dark/0.png', (path: string) => train({ ...csv, save: path })],
    ['--save', 'an image of --data,', 'hard.png', (path: string) => train({ ...csv, save: path })],
    [
      '--save',
      'an image of --validation,',
      'tissue.png',
      (path: string) => train({ ...masks, data: at('other.csv'), validation: at('masks.csv'), save: path })
    ],
    ['--save', 'a mask of --data,', 'mask.png', (path: string) => train({ ...masks, save: path })],
    ['--best', '--weights', 'weights', (path: string) => train(options({ weights: path, validation: 0.5, best: path }))],
    ['--metrics', '--weights', 'weights', (path: string) => train(options({ weights: path, metrics: path }))],
    ['--best', '--save', 'twice', (path: string) => train(options({ validation: 0.5, best: path, save: path }))],
    ['--metrics', '--save', 'twice', (path: string) => train(options({ metrics: path, save: path }))],
    ['--metrics', '--best', 'twice', (path: string) => train(options({ validation: 0.5, metrics: path, best: path }))],
    ['--state', '--save', 'twice', (path: string) => train(options({ state: path, save: path }))]
  ] as const
  writeFileSync(at('small.js'), readFileSync(smallModel))
  mkdirSync(at('others'))
  writeFileSync(at('other.csv'), 'path,mask\ntissue.png,mask.png\n')
  rmSync(at('other.csv'))
  await sharp(at('tissue.png')).toFile(at('others', 'tissue.png'))
  writeFileSync(at('other.csv'), 'path,mask\nothers/tissue.png,mask.png\n')
  for (const [output, input, name, run] of cases) {
    const path = at(name)
    const before = existsSync(path) ? readFileSync(path) : undefined
    const { code, message } = await failureOf(run(path))
    assert.is(code, 'input', message)
    assert.match(message, `${output} ${path} would be written over ${input} `)
    assert.match(message, /: name another file$/)
    assert.equal(existsSync(path) ? readFileSync(path) : undefined, before)
  }
})

test('what a killed process has left unpacked is gone when the next training begins, and the next prediction', async () => {
  const before = process.env['XDG_CACHE_HOME']
  process.env['XDG_CACHE_HOME'] = at('cache')
  // No process has a number beyond 2^22.
  const left = at('cache', 'tilefold', `unpacked-${hostname()}.4194999-0123456789ab.tmp`)
  for (const run of [
    train(options({ steps: 1 })),
    predict({ model: segmenting, weights: at('pixels'), image: at('tissue.png'), out: at('classes.png') })
  ]) {
    mkdirSync(left, { recursive: true })
    writeFileSync(join(left, 'image.v'), 'pixels')
    await valueOf<unknown>(run)
    assert.not(existsSync(left))
  }
  if (before === undefined) delete process.env['XDG_CACHE_HOME']
  else process.env['XDG_CACHE_HOME'] = before
})

test('a state is refused among folders of classes, and a file among states', async () => {
  assert.match(
    (await failureOf(train(options({ state: at('images', 'state') })))).message,
    /^--state .*state lies in .*images, where each folder is a class: name another place$/
  )
  assert.match(
    (await failureOf(train(options({ state: at('some-state'), save: at('some-state', 'step-7.safetensors') })))).message,
    /^--save .*step-7\.safetensors is named as the states in --state .* are: name another file$/
  )
  assert.not(existsSync(at('some-state')))
})

test('training may go on in the file that its weights come from, which is replaced in the end', async () => {
  await valueOf(train(options({ weights: at('weights'), save: at('weights') })))
  await valueOf(openTensorFile(at('weights')))
})

test('empty paths are refused by their option', async () => {
  const cases: readonly (readonly [name: string, run: Outcome<unknown>])[] = [
    ['out', plan({ model: smallNetwork, out: '' })],
    ['plan', plan({ model: smallNetwork, plan: '' })],
    ['out', chain({ model: smallNetwork, out: '' })],
    ['file', place({ file: '' })],
    ['out', place({ file: at('buffers.csv'), out: '' })],
    ['out', profile({ model: smallNetwork, out: '' })],
    ['plan', explain({ model: smallNetwork, plan: '' })],
    ['plan', bench({ model: smallNetwork, plan: '' })],
    ['chain', offload({ chain: '', memory: '1GiB' })],
    ['image', predict({ model: segmenting, weights: at('pixels'), image: '' })],
    ['weights', predict({ model: segmenting, weights: '', image: at('tissue.png') })],
    ['out', predict({ model: segmenting, weights: at('pixels'), image: at('tissue.png'), out: '' })],
    ['batch', gradients({ model: smallNetwork, weights: at('weights'), batch: '', out: at('out') })],
    ...(['data', 'validation', 'weights', 'save', 'best', 'metrics', 'state'] as const).map(
      (name) => [name, train(options({ validation: 0.5, [name]: '' }))] as const
    )
  ]
  for (const [name, run] of cases) {
    const { code, message } = await failureOf(run)
    assert.is(code, 'input')
    assert.match(message, new RegExp(`^${name} is "", not a (path|plan, or the path|chain, or the path)`))
  }
  const { status, stderr } = await runScript([script, 'plan', modelFile, '--out', ''])
  assert.is(status, 2)
  assert.match(stderr, /^--out\b.*empty[^\n]*\.\n$/)
})

test('metrics of another training are set aside, one after the other', async () => {
  const metrics = at('metrics.jsonl')
  const notices: string[] = []
  const run = () => valueOf(train(options({ metrics, steps: 2, onNotice: (sentence) => notices.push(sentence) })))
  await run()
  const first = readFileSync(metrics)
  await run()
  const second = readFileSync(metrics)
  await run()
  assert.equal([readFileSync(`${metrics}.1`), readFileSync(`${metrics}.2`)], [first, second])
  const third = readFileSync(metrics)
  // A training that is to go on and finds no state begins, too.
  await valueOf(train(options({ metrics, steps: 1, state: at('no-state-yet'), resume: true })))
  assert.equal(readFileSync(`${metrics}.3`), third)
  assert.equal(
    notices,
    [1, 2].map((number) => `${metrics} held the metrics of another training, which are in ${metrics}.${number} now`)
  )
  for (const text of ['{"precious":true}', '{"step":1,"note":"mine"}\n', '{"step":"1"}\n', '[1]\n']) {
    writeFileSync(metrics, text)
    for (const resume of [{}, { state: at(`state-${text.length}`), resume: true }]) {
      const { message } = await failureOf(train(options({ metrics, ...resume })))
      assert.match(message, /metrics\.jsonl: cannot be written \(it holds something else than the metrics of a training\): name another/)
      assert.is(readFileSync(metrics, 'utf8'), text)
    }
  }
})

/** Lets a training begin, and then a second one while the first still runs. */
const during = async (first: Partial<TrainOptions>, second: Partial<TrainOptions>) => {
  const controller = new AbortController()
  let begun: (value: unknown) => void = () => undefined
  const running = new Promise((resolve) => (begun = resolve))
  const one = train(options({ ...first, steps: 1_000_000, signal: controller.signal, onStep: begun as () => void }))()
  await running
  const other = await train(options(second))()
  controller.abort()
  const ended = await one
  assert.ok(E.isLeft(ended) && ended.left.code === 'interrupted')
  return other
}

test('two trainings do not write to one place, in one process neither; when the first has ended the second may', async () => {
  for (const [option, more] of [
    ['save', {}],
    ['metrics', {}],
    ['state', { resume: true, stateEvery: 1_000_000 }],
    ['best', { validation: 0.5, validateEvery: 1_000_000 }]
  ] as const) {
    const place = { [option]: at(`shared-${option}`), ...more }
    const other = await during(place, place)
    assert.ok(E.isLeft(other), option)
    assert.is(other.left.code, 'input')
    assert.match(
      other.left.message,
      new RegExp(`^--${option} .*shared-${option}: another training writes there, of process ${process.pid} on .*; wait until it has ended`)
    )
    assert.equal(
      readdirSync(folder).filter((name) => name.endsWith('.lock')),
      []
    )
    await valueOf(train(options({ ...place, steps: 2 })))
  }
})

test('two processes do not write to one place; the lock of a killed one is free again', async () => {
  const state = at('locked-state')
  const args = [script, 'train', modelFile, '--data', at('images'), '--device', 'reference', '--threads', '1', '--state', state]
  const child = spawn(process.execPath, [...args, '--steps', '100000000', '--state-every', '100000000'], {
    stdio: ['ignore', 'ignore', 'pipe']
  })
  await new Promise<void>((resolve) => child.stderr!.setEncoding('utf8').on('data', (text: string) => /^step /m.test(text) && resolve()))
  const other = await runScript([...args, '--steps', '2', '--resume'])
  assert.is(other.status, 2)
  assert.match(other.stderr, new RegExp(`^--state ${state}: another training writes there, of process ${child.pid} on .*\\.\\n$`, 'm'))
  const gone = new Promise((resolve) => child.on('close', resolve))
  child.kill('SIGKILL')
  await gone
  assert.ok(existsSync(join(state, '.lock')))
  const { status, stderr } = await runScript([...args, '--steps', '2', '--resume'])
  assert.is(status, 0, stderr)
  assert.equal(readdirSync(state), ['step-2.safetensors'])
})

/** The weights after so many steps. */
const weightsAfter = async (steps: number, more: Partial<TrainOptions> = {}) => {
  await valueOf(train(options({ ...more, steps, save: at('expected') })))
  return weightsOf(at('expected'))
}

test('a lock whose file somebody removed leaves that of another alone', () => {
  const path = at('removed.lock')
  const take = (owner: string): FileLock => {
    const answer = must(lockFile(path, owner))
    assert.ok(answer !== 'held' && answer !== 'unsupported')
    return answer
  }
  const first = take('first')
  rmSync(path)
  const second = take('second')
  unlockFile(first)
  assert.is(must(lockFile(path, 'third')), 'held')
  assert.is(readFileSync(path, 'utf8'), 'second')
  unlockFile(second)
  assert.not(existsSync(path))
})

test('a cut image that is met late costs nothing that was learnt before', async () => {
  await writeImages(at('late'), 4)
  // A header that says the truth, and no end.
  const cut = at('late', 'light', '3.png')
  truncateSync(cut, Math.floor(statSync(cut).size / 2))
  for (const more of [{}, { accumulate: 2 }] as const) {
    const [save, state] = [at('late-weights'), at('late-state')]
    rmSync(state, { recursive: true, force: true })
    const { code, message } = await failureOf(train(options({ ...more, data: at('late'), input: [1, 3, 16, 16], save, state, seed: 5 })))
    assert.is(code, 'input')
    const pattern =
      /^the image .*light\/3\.png cannot be read: [^;]+; .*late-weights holds the weights after step (\d+); .*late-state holds the state after step (\d+)$/
    const [, saved, kept] = pattern.exec(message) ?? []
    assert.ok(Number(saved) > 0 && saved === kept, message)
    // The same images, but for the one that is cut: until it is drawn nothing is different.
    const expected = await weightsAfter(Number(saved), { ...more, input: [1, 3, 16, 16], seed: 5 })
    assert.equal(await weightsOf(save), expected)
    assert.equal(readdirSync(state), [`step-${kept}.safetensors`])
  }
})

test('callbacks that throw end a training with a sentence; what was learnt is saved and the metrics file is closed', async () => {
  for (const [name, callback] of [
    ['onStep', { onStep: ({ step }: { readonly step: number }) => step === 2 && thrower() }],
    ['onValidation', { validation: 0.5, validateEvery: 3, onValidation: () => thrower() }],
    ['onPlan', { onPlan: () => thrower() }]
  ] as const) {
    const [save, metrics] = [at(`${name}-weights`), at(`${name}-metrics`)]
    const { code, message } = await failureOf(train(options({ ...(callback as Partial<TrainOptions>), save, metrics })))
    assert.is(code, 'input')
    if (name === 'onPlan') assert.match(message, /^onPlan threw an error \(not today\); interrupted/)
    else {
      assert.is(message, `${name} threw an error (not today); interrupted after 3 of 6 steps; ${save} holds the weights after step 3`)
      const more = name === 'onValidation' ? { validation: 0.5, validateEvery: 100 } : {}
      assert.equal(await weightsOf(save), await weightsAfter(3, more))
    }
    const open = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8') && require('node:fs').readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    })
    assert.not(open.includes(metrics))
  }
})

const thrower = (): void => {
  throw new Error('not today')
}

test('a step that fails on the device costs what it did, and no more: the last copy is saved', async () => {
  const { examples, classes } = await valueOf(readDataset(at('masks.csv')))
  const [good] = examples
  assert.ok(good !== undefined && typeof good.label === 'object')
  // The file is not what it was when it was looked at.
  writePng(at('sevens.png'), new Uint8Array(96 * 128).fill(7), { height: 96, width: 128, bitDepth: 8 })
  const data = { classes, examples: [good, good, good, good, { ...good, label: { ...good.label, path: at('sevens.png') } }] }
  const pixels = model({ name: 'pixels', layers: [conv2d({ out: 2, k: 1 })] })
  const save = at('failed-weights')
  const { code, message } = await failureOf(train(options({ model: pixels, data, input: [1, 3, 16, 16], steps: 5, save, seed: 1 })))
  assert.is(code, 'device')
  const [, steps] = /label 7 of a pixel .*; .*failed-weights holds the weights after step (\d)$/.exec(message) ?? []
  assert.ok(Number(steps) > 0, message)
  await valueOf(openTensorFile(save))
})

test('metrics that can be written no more end a training with what it has learnt', async () => {
  const [save, metrics] = [at('full-weights'), at('full-metrics')]
  const preload = at('full-metrics.js')
  writeFileSync(
    preload,
    `const promises = require('node:fs/promises')
const { open } = promises
promises.open = async (path, ...rest) => {
  const file = await open(path, ...rest)
  if (!String(path).endsWith('full-metrics')) return file
  const full = await open('/dev/full', 'w')
  let lines = 0
  const { writeFile } = file
  file.writeFile = (text) => ((lines += 1) > 3 ? full : file) === full ? full.writeFile(text) : writeFile.call(file, text)
  return file
}
`
  )
  const args = ['train', modelFile, '--data', at('images'), '--device', 'reference', '--threads', '1', '--steps', '9']
  const { status, stderr } = await runScript(['-r', preload, script, ...args, '--save', save, '--metrics', metrics])
  assert.is(status, 2, stderr)
  assert.match(stderr, /full-metrics: cannot be written \(no space left on device\); .*full-weights holds the weights after step 4\.\n$/)
  await valueOf(openTensorFile(save))
  assert.is(readFileSync(metrics, 'utf8').split('\n').length, 4)
})

test('a disk that is full for the weights in the end keeps the state, and says so', async () => {
  const state = at('end-state')
  const save = at('gone', 'weights')
  mkdirSync(at('gone'))
  const { message } = await failureOf(
    train(
      options({
        steps: 3,
        state,
        save,
        onStep: ({ step }) => step === 2 && rmSync(at('gone'), { recursive: true })
      } as Partial<TrainOptions>)
    )
  )
  assert.match(message, /gone\/weights: cannot be written \(no such file or directory\); .*end-state holds the state after step 3$/)
})

test.run()
