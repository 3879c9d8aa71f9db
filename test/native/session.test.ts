import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as assert from 'uvu/assert'
import { test } from 'uvu'
import { openSession, type Image } from '../../native'
import type { Kernel } from '../../staging/kernels/kernels'
import { must } from '../must'
import { arena, convolution, copy, stepIo, index, launch, left, loop, none, open, parameters, programOf, runStep } from './program'

test('copies rows in a loop, there and back', async () => {
  // Row r of the I/O buffer goes to row 3 - r of the arena, then all four to rows 4 .. 7.
  const code = [loop('H', 4, launch(0, stepIo(0, [0, 24, 0]), arena(72, [0, -24, 0]))), launch(1, arena(0), stepIo(96))]
  const values = Float64Array.from({ length: 24 }, (_, i) => i)
  const result = await runStep({ kernels: [copy(3), copy(12)], code }, values)
  assert.equal([...result.slice(12)], [9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2])
})

test('nested loops visit every tile of three axes', async () => {
  const code = [loop('B', 2, loop('W', 3, loop('H', 4, launch(0, stepIo(0), stepIo(8, [96, 24, 8])))))]
  const result = await runStep(
    { kernels: [copy(1)], code },
    Float64Array.from({ length: 25 }, (_, i) => (i === 0 ? 5 : 0))
  )
  assert.equal(
    [...result],
    Array.from({ length: 25 }, () => 5)
  )
})

test('convolves with and without bias', async () => {
  const source = [1, 2, 3, 4, 5, 6, 7, 8, 9]
  const weights = [0, 0, 0, 0, 1, 0, 0, 0, 10] // itself plus ten times its right lower neighbour
  const code = [launch(0, stepIo(0), stepIo(72), stepIo(144), stepIo(152), none), launch(0, stepIo(0), stepIo(72), none, stepIo(224), none)]
  const result = await runStep(
    { kernels: [convolution], code },
    Float64Array.from([...source, ...weights, 0.5, ...new Array<number>(18).fill(0)])
  )
  const expected = [51, 62, 3, 84, 95, 6, 7, 8, 9]
  assert.equal(
    [...result.slice(19, 28)],
    expected.map((value) => value + 0.5)
  )
  assert.equal([...result.slice(28)], expected)
})

const loadImage: Kernel = {
  kind: 'loadImage',
  batch: 1,
  channels: 2,
  height: 1,
  width: 2,
  layout: 0,
  fullHeight: 2,
  fullWidth: 2,
  normalisation: [0, 1, 1, 0.5]
}
const image: Image = {
  pixels: Uint8Array.from([0, 0, 0, 51, 0, 102, 0, 0, 255, 153, 51, 204]), // 2 rows of 3 pixels of 2 channels
  height: 2,
  width: 3,
  channels: 2,
  cropTop: 0,
  cropLeft: 1,
  flipHorizontal: false,
  flipVertical: false,
  quarterTurns: 0
}
const loading = {
  kernels: [loadImage],
  code: [loop('H', 2, launch(0, stepIo(0, [0, 32, 0]), index(0), index(0, [0, 1, 0]), index(0)))],
  input: [1, 2, 2, 2] as const
}

test('loads a crop tile by tile, normalised', async () => {
  const result = await runStep(loading, new Float64Array(8), [image])
  // Rows of the crop: channel 0, then channel 1, of two pixels.
  assert.equal(
    [...result].map((value) => Math.round(value * 1e9) / 1e9),
    [0, 0, -1.6, -1.2, 1, 0.2, -0.8, -0.4]
  )
})

test('flips the crop both ways', async () => {
  const result = await runStep(loading, new Float64Array(8), [{ ...image, flipHorizontal: true, flipVertical: true }])
  assert.equal(
    [...result].map((value) => Math.round(value * 1e9) / 1e9),
    [0.2, 1, -0.4, -0.8, 0, 0, -1.2, -1.6]
  )
})

// TypeScript's library for Node 20 does not know them.
const shrinking = new Uint8Array(Reflect.construct(ArrayBuffer, [12, { maxByteLength: 24 }]) as ArrayBuffer)

for (const [name, images, sentence] of [
  ['no image', [], '0 images for a batch of 1'],
  ['a crop outside its image', [{ ...image, cropLeft: 2 }], 'does not hold a crop of 2x2 at row 0, column 2'],
  ['an image of other channels', [{ ...image, channels: 1, pixels: new Uint8Array(6) }], 'has 1 channels, but the network reads 2'],
  ['pixels that may shrink', [{ ...image, pixels: shrinking }], 'pixels lies in a resizable buffer, which may shrink while it is read'],
  ['pixels that are cut', [{ ...image, pixels: new Uint8Array(11) }], 'has 11 bytes instead of 12'],
  ['a negative crop', [{ ...image, cropTop: -1 }], 'cropTop must not be negative'],
  ['four quarters', [{ ...image, quarterTurns: 4 as 0 }], 'image 0 is turned by 4 quarters: give quarterTurns of 0 to 3'],
  ['half a quarter', [{ ...image, quarterTurns: 0.5 as 0 }], 'quarterTurns is not a whole number'],
  ['a turn backwards', [{ ...image, quarterTurns: -1 as 0 }], 'quarterTurns must not be negative'],
  ['a colour of 11 numbers', [{ ...image, colour: new Float32Array(11) }], 'colour has 11 numbers instead of 12'],
  ['a colour of another type', [{ ...image, colour: new Float64Array(12) as unknown as Float32Array }], 'colour is no Float32Array'],
  ['a colour of two channels', [{ ...image, colour: new Float32Array(12) }], 'has 2 channels, but colour changes red, green and blue']
] as const)
  test(`refuses ${name}`, async () => {
    const session = must(open({ ...loading, stepIoBytes: 64 }))
    const result = left(await session.run('step', new ArrayBuffer(64), parameters, images)())
    assert.is(result.code, 'device')
    assert.ok(result.message.includes(sentence), result.message)
    session.close()
  })

test('an image that gives the I/O buffer away while it is read is refused', async () => {
  const session = must(open({ ...loading, stepIoBytes: 64 }))
  const buffer = new ArrayBuffer(64)
  const giving: Image = {
    ...image,
    get cropTop() {
      structuredClone(buffer, { transfer: [buffer] })
      return 0
    }
  }
  assert.match(left(await session.run('step', buffer, parameters, [giving])()).message, /takes and gives 64 bytes, but has a buffer of 0/)
  session.close()
})

test('an image that closes the session while it is prepared ends nothing else', async () => {
  const session = must(open({ ...loading, stepIoBytes: 64 }))
  const closing: Image = {
    ...image,
    get cropTop() {
      session.close()
      return 0
    }
  }
  await session.prepare([closing])()
  assert.match(left(await session.run('step', new ArrayBuffer(64), parameters, [image])()).message, /closed/)
})

test('a window whose reading throws fails its section', async () => {
  const session = must(open({ ...loading, stepIoBytes: 64 }))
  const readWindow = (): never => {
    throw new Error('not today')
  }
  const read: Image = { ...image, pixels: { windowBytes: 64, tile: { height: 1, width: 1 }, readWindow } }
  const { code, message } = left(await session.run('step', new ArrayBuffer(64), parameters, [read])())
  assert.is(code, 'image')
  assert.match(message, /not today/)
  session.close()
})

test('a label outside the classes is a sentence, and the session lives on', async () => {
  const loss: Kernel = { kind: 'softmaxCrossEntropyForward', batch: 1, classes: 2, fullBatch: 1 }
  const session = must(open({ kernels: [loss], code: [launch(0, stepIo(0), stepIo(32), none, stepIo(16))], stepIoBytes: 40 }))
  const buffer = new ArrayBuffer(40)
  new Float64Array(buffer, 0, 2).set([1, 1])
  const label = new Int32Array(buffer, 32, 1)
  label[0] = 2
  assert.ok(left(await session.run('step', buffer, parameters, [])()).message.startsWith('label 2 of row 0 is outside 0 .. 1'))
  label[0] = 1
  must(await session.run('step', buffer, parameters, [])())
  assert.ok(Math.abs(new Float64Array(buffer, 16, 1)[0]! - Math.log(2)) < 1e-15)
  session.close()
})

test('an I/O buffer that is too small is refused', async () => {
  const session = must(open({ kernels: [copy(1)], code: [launch(0, stepIo(0), arena(0))], stepIoBytes: 8 }))
  const { message } = left(await session.run('step', new ArrayBuffer(4), parameters, [])())
  assert.ok(message.includes('takes and gives 8 bytes, but has a buffer of 4'), message)
  session.close()
})

test('one section runs at a time, and an interrupt ends it', async () => {
  const endless = open({ kernels: [copy(1)], code: [loop('B', 2 ** 32, launch(0, arena(0), arena(8)))] })
  const session = must(endless)
  const running = session.run('step', new ArrayBuffer(0), parameters, [])()
  assert.ok(left(await session.run('save', new ArrayBuffer(0), parameters, [])()).message.includes('already running'))
  setTimeout(session.interrupt, 20)
  assert.is(left(await running).code, 'interrupted')
  must(await session.run('save', new ArrayBuffer(0), parameters, [])())
  session.close()
  assert.ok(left(await session.run('save', new ArrayBuffer(0), parameters, [])()).message.includes('closed'))
})

test('closing ends what runs', async () => {
  const session = must(open({ kernels: [copy(1)], code: [loop('B', 2 ** 32, launch(0, arena(0), arena(8)))] }))
  const running = session.run('step', new ArrayBuffer(0), parameters, [])()
  session.close()
  assert.is(left(await running).code, 'interrupted')
})

test('a process can exit while a section runs', () => {
  const script = `
    const { must } = require('./test/must')
    const { open, copy, loop, launch, arena, parameters } = require('./test/native/program')
    const session = must(open({ kernels: [copy(1)], code: [loop('B', 2 ** 32, launch(0, arena(0), arena(8)))] }))
    void session.run('step', new ArrayBuffer(0), parameters, [])()
    setTimeout(() => process.exit(7), 20)`
  const { status } = spawnSync(process.execPath, ['-r', './test/transpile.js', '-e', script], {
    cwd: join(__dirname, '..', '..'),
    timeout: 30_000
  })
  assert.is(status, 7)
})

test('a worker that is terminated in a step ends with it, and its process lives on', () => {
  const worker = `
    const { must } = require('./test/must')
    const { open, copy, loop, launch, arena, parameters } = require('./test/native/program')
    const { parentPort } = require('node:worker_threads')
    const session = must(open({ kernels: [copy(256)], code: [loop('B', 5_000, launch(0, arena(0), arena(2048)))] }))
    const again = () => session.run('step', new ArrayBuffer(0), parameters, [])().then(again)
    void again()
    parentPort.postMessage('started')`
  const script = `
    const { Worker } = require('node:worker_threads')
    const { once } = require('node:events')
    const rounds = async () => {
      for (let round = 0; round < 8; round += 1) {
        const worker = new Worker(${JSON.stringify(worker)}, { eval: true, execArgv: ['-r', './test/transpile.js'] })
        await once(worker, 'message')
        await new Promise((resolve) => setTimeout(resolve, 3 * round))
        await worker.terminate()
      }
      process.exit(7)
    }
    void rounds()`
  const { status, signal, stderr } = spawnSync(process.execPath, ['-e', script], {
    cwd: join(__dirname, '..', '..'),
    encoding: 'utf8',
    timeout: 120_000
  })
  assert.equal([status, signal], [7, null], stderr)
})

/** What scripts of sections call. */
const names = `
    const { must } = require('./test/must')
    const { open, copy, loop, launch, arena, stepIo, index, parameters } = require('./test/native/program')`

/** A program that loads an image of one pixel, and sections of it that read that by a window. */
const reading = `
    const loading = { kind: 'loadImage', batch: 1, channels: 1, height: 1, width: 1, layout: 0, fullHeight: 1, fullWidth: 1 }
    const kernels = [{ ...loading, normalisation: [0, 1] }]
    const code = [launch(0, stepIo(0), index(0), index(0), index(0))]
    const asItIs = { flipHorizontal: false, flipVertical: false, quarterTurns: 0 }
    const openReading = () => must(open({ kernels, code, stepIoBytes: 8, input: [1, 1, 1, 1] }))
    const runReading = (session, readWindow) => {
      const pixels = { windowBytes: 1, tile: { height: 1, width: 1 }, readWindow }
      return session.run('step', new ArrayBuffer(8), parameters, [
        { pixels, height: 1, width: 1, channels: 1, cropTop: 0, cropLeft: 0, ...asItIs }
      ])()
    }
    const never = () => () => new Promise(() => undefined)`

/** What starts in a worker, by what it does. */
const unending = {
  'a section that never ends': `
    const session = must(open({ kernels: [copy(1)], code: [loop('B', 2 ** 32, launch(0, arena(0), arena(8)))] }))
    void session.run('step', new ArrayBuffer(0), parameters, [])()`,
  'a section that waits for a window of an image': `${reading}
    void runReading(openReading(), never)`
}

for (const [name, section] of Object.entries(unending))
  for (const end of ['await worker.terminate(); process.exit(7)', 'process.exit(7)'])
    test(`a worker ends in ${name}, by ${end}`, () => {
      const worker = `${names}${section}
        setTimeout(() => require('node:worker_threads').parentPort.postMessage('started'), 20)`
      const script = `
        const worker = new (require('node:worker_threads').Worker)(${JSON.stringify(worker)}, {
          eval: true,
          execArgv: ['-r', './test/transpile.js']
        })
        worker.once('message', async () => { ${end} })`
      const { status, signal, stderr } = spawnSync(process.execPath, ['-e', script], {
        cwd: join(__dirname, '..', '..'),
        encoding: 'utf8',
        timeout: 60_000
      })
      assert.equal([status, signal], [7, null], stderr)
    })

/** What a script of sections that read by windows says, behind a line of bash that limits it. */
const sayReading = (limits: string, script: string): string => {
  const { UV_THREADPOOL_SIZE: _, ...env } = process.env
  const node = [process.execPath, '-r', './test/transpile.js', '-e', `${names}${reading}\n${script}`]
  const { status, stdout, stderr } = spawnSync('bash', ['-c', `${limits}; exec "$@"`, 'bash', ...node], {
    cwd: join(__dirname, '..', '..'),
    encoding: 'utf8',
    env,
    timeout: 60_000
  })
  assert.is(status, 0, stderr)
  return stdout
}

test('more sections than Node has threads read files by windows', () => {
  const script = `
    const { readFile } = require('node:fs/promises')
    const readWindow = () => async () => (await readFile('package.json'), { _tag: 'Right', right: Uint8Array.of(1) })
    const sections = Array.from({ length: 9 }, () => runReading(openReading(), readWindow))
    Promise.all(sections).then((answers) => console.log(answers.filter(({ _tag }) => _tag === 'Right').length))`
  assert.is(sayReading('true', script), '9\n')
  assert.is(sayReading('export UV_THREADPOOL_SIZE=2', script), '9\n')
})

test('a section that waits until others have read is interrupted', () => {
  const script = `
    const sessions = [openReading(), openReading()]
    const [first, second] = sessions.map((session) => runReading(session, never))
    sessions[1].interrupt()
    second.then(({ left }) => {
      console.log(left.code, left.message)
      sessions[0].interrupt()
      first.then(() => runReading(sessions[1], () => async () => ({ _tag: 'Right', right: Uint8Array.of(1) })).then(({ _tag }) => console.log(_tag)))
    })`
  assert.is(sayReading('export UV_THREADPOOL_SIZE=2', script), 'interrupted section step was interrupted before it began\nRight\n')
})

test('where Node has one thread alone, which would wait for itself, reading by windows is refused', () => {
  const said = sayReading('export UV_THREADPOOL_SIZE=1', `runReading(openReading(), never).then(({ left }) => console.log(left.message))`)
  assert.match(said, /^UV_THREADPOOL_SIZE leaves one thread, but images are read while a section runs: set it to 2 or more/)
})

test('a window that finds no memory fails its section, not the process', () => {
  const script = `
    const { readFileSync } = require('node:fs')
    // Once, but not twice, as much as is left.
    const left = () => 1024 * (4_000_000 - /VmSize:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
    const readWindow = () => async () => ({ _tag: 'Right', right: new Uint8Array(Math.floor(0.6 * left())) })
    runReading(openReading(), readWindow).then(({ left }) => console.log(left.message))`
  assert.match(sayReading('ulimit -v 4000000', script), /^a window of an image finds no memory for its \d+ bytes\n$/)
})

const collect = (): void => {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

/** 64 MiB, which go back to the system when nothing holds them. */
const wideImage = () => {
  const width = 2 ** 24
  const pixels = new Uint8Array(2 * width * 2)
  ;[pixels[2 * width - 1], pixels[4 * width - 4]] = [255, 51]
  return { ...image, pixels, width, cropLeft: width - 2 }
}

/** What an image is loaded as after something happened to it. */
const loadsAfter = async (meanwhile: (image: { pixels: Uint8Array }) => void): Promise<readonly number[]> => {
  const session = must(open({ ...loading, code: [loop('B', 2 ** 30, ...loading.code)], stepIoBytes: 64 }))
  const given = wideImage()
  const io = new ArrayBuffer(64)
  const running = session.run('step', io, parameters, [given])()
  meanwhile(given)
  await sleep(5)
  collect()
  const loaded = new Float64Array(io).fill(7)
  while (loaded.includes(7)) await sleep(5)
  session.interrupt()
  assert.is(left(await running).code, 'interrupted')
  session.close()
  return [...loaded].map((value) => Math.round(value * 1e9) / 1e9)
}

for (const [name, meanwhile] of [
  ['replaced', (given) => (given.pixels = new Uint8Array(0))],
  [
    'transferred',
    (given) => {
      structuredClone(given.pixels, { transfer: [given.pixels.buffer as ArrayBuffer] })
      given.pixels = new Uint8Array(0)
    }
  ]
] as const satisfies readonly (readonly [string, (image: { pixels: Uint8Array }) => void])[])
  test(`an image whose pixels are ${name} during a run is loaded as it was`, async () => {
    assert.equal(await loadsAfter(meanwhile), [0, 0, -2, 0, 0.2, 0, -2, -2])
  })

test('the measured peak is the highest byte that was written', async () => {
  const zero: Kernel = { kind: 'zero', bytes: 5 }
  const session = must(open({ kernels: [zero], code: [launch(0, arena(100))], peakBytes: 105 }, 'reference', 10_000))
  assert.is(session.measuredPeakBytes(), 0)
  must(await session.run('step', new ArrayBuffer(0), parameters, [])())
  assert.is(session.measuredPeakBytes(), 105)
  session.close()
  assert.is(session.measuredPeakBytes(), 105)
})

test('an arena that no machine has is refused with its figures', () => {
  const program = programOf({ kernels: [], code: [] })
  for (const arenaBytes of [2 ** 46, 2 ** 47]) {
    const { code, message } = left(openSession({ device: 'reference', program, arenaBytes }))
    assert.is(code, 'memory')
    assert.ok(message.startsWith(`the arena of ${arenaBytes} bytes is larger than`), message)
  }
})

test('the cpu device computes in float32 or bf16', () => {
  const { message } = left(open({ kernels: [], code: [] }, 'cpu'))
  assert.ok(message.includes('the cpu device computes in float32 or bf16'), message)
})

test('measures the time of each kernel where it is told to, over all runs so far', async () => {
  const written = { kernels: [copy(3), copy(12)], code: [loop('H', 4, launch(0, stepIo(0), arena(0))), launch(1, stepIo(0), arena(0))] }
  const openTimed = (timesKernels: boolean) =>
    must(openSession({ device: 'reference', program: programOf({ ...written, stepIoBytes: 96 }), arenaBytes: 4096, timesKernels }))
  const [timed, untimed] = [openTimed(true), openTimed(false)]
  const run = async (session: typeof timed): Promise<number> => must(await session.run('step', new ArrayBuffer(96), parameters, [])())
  assert.equal(timed.kernelMilliseconds(), [0, 0])
  const first = await run(timed)
  const once = timed.kernelMilliseconds()
  assert.ok(once.length === 2 && once[0]! > 0 && once[1]! > 0 && once[0]! + once[1]! <= first, `${once} of ${first}`)
  await run(timed)
  timed.kernelMilliseconds().forEach((total, kernel) => assert.ok(total > once[kernel]!))
  await run(untimed)
  assert.equal(untimed.kernelMilliseconds(), [])
  timed.close()
  untimed.close()
})

test.run()
