/** Windows of an image are read before a step asks for them. */
import { setTimeout } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import { type ImageWindow, type ReadPixels, deviceModel, openSession } from '../../native'
import { inputFailure } from '../../src/failure'
import { readAhead, windowsOfStep, withReadAhead } from '../../src/predicting/read-ahead'
import { createStepIo } from '../../src/running/step-io'
import { stage } from '../../staging'
import { asWritten } from '../golden/execute'
import { must } from '../must'

const net = model({
  name: 'net',
  input: [1, 3, 96, 130],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })]
})

for (const grid of [
  { B: 1, H: 1, W: 1 },
  { B: 1, H: 5, W: 1 },
  { B: 1, H: 4, W: 6 }
])
  for (const [windowBytes, tile] of [
    [1, { height: 1, width: 1 }],
    [700, { height: 8, width: 8 }],
    [5000, { height: 16, width: 32 }],
    [100_000, { height: 16, width: 32 }]
  ] as const)
    test(`of ${grid.H}x${grid.W} tiles, windows of ${windowBytes} bytes are those that are expected`, async () => {
      const asked: ImageWindow[] = []
      const pixels: ReadPixels = {
        windowBytes,
        tile,
        readWindow: (window) => {
          asked.push(window)
          return TE.right(new Uint8Array(window.height * window.width * 3).fill(asked.length))
        }
      }
      const { program } = must(
        stage({
          ...{ model: net, objective: { kind: 'evaluate' }, strategy: 'plain', device: must(deviceModel('cpu', 'float32', 1)) },
          source: { kind: 'image', mean: [0.5, 0.5, 0.5], deviation: [0.2, 0.2, 0.2] },
          given: asWritten([
            { from: 0, to: 4, grid, recompute: true, reorder: 'once' },
            { from: 4, to: 7, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
          ])
        })
      )
      const session = must(openSession({ device: 'cpu', program, arenaBytes: program.peakBytes }))
      const place = { cropTop: 0, cropLeft: 0, flipHorizontal: false, flipVertical: false, quarterTurns: 0 as const }
      const image = { pixels, height: 96, width: 130, channels: 3, ...place }
      must(await session.run('step', createStepIo(program.step).buffer, { learningRate: 0, step: 0, seed: 0 }, [image])())
      session.close()
      assert.ok(asked.length > 0)
      assert.equal([...windowsOfStep(program, pixels, 3)], asked)
    })

const windowAt = (left: number): ImageWindow => ({ top: 0, left, height: 1, width: 2 })

/** Reads bytes that tell the place, and notes which were asked for. */
const recording = () => {
  const begun: number[] = []
  const read =
    ({ left }: ImageWindow) =>
    () => {
      begun.push(left)
      return left === 13 ? TE.left({ message: 'cut' })() : TE.right(Uint8Array.of(left))()
    }
  return { begun, read }
}

test('once a window is given, the next one is being read', async () => {
  const { begun, read } = recording()
  const { readWindow: ahead } = readAhead(read, [0, 2, 4].map(windowAt).values())
  assert.equal([...must(await ahead(windowAt(0))())], [0])
  assert.equal(begun, [0, 2])
  assert.equal([...must(await ahead(windowAt(2))())], [2])
  assert.equal(begun, [0, 2, 4])
  assert.equal([...must(await ahead(windowAt(4))())], [4])
  assert.equal(begun, [0, 2, 4])
  assert.equal([...must(await ahead(windowAt(9))())], [9])
})

test('what is asked for in another order is read, and nothing ahead from then on', async () => {
  const { begun, read } = recording()
  const { readWindow: ahead } = readAhead(read, [0, 2, 4].map(windowAt).values())
  assert.equal([...must(await ahead(windowAt(0))())], [0])
  assert.equal([...must(await ahead(windowAt(7))())], [7])
  assert.equal([...must(await ahead(windowAt(2))())], [2])
  assert.equal(begun, [0, 2, 7, 2])
})

test('a window that cannot be read fails where it is asked for, and none is read behind it', async () => {
  const { begun, read } = recording()
  const { readWindow: ahead } = readAhead(read, [0, 13, 4].map(windowAt).values())
  must(await ahead(windowAt(0))())
  assert.equal(await ahead(windowAt(13))(), await TE.left({ message: 'cut' })())
  assert.equal(begun, [0, 13])
})

/** Reads of which the second one takes a while, and gives bytes that are told apart. */
const slow = () => {
  const given: Uint8Array[] = []
  const read =
    ({ left }: ImageWindow) =>
    async () => {
      await setTimeout(left === 0 ? 0 : 50)
      given.push(Uint8Array.of(left))
      return E.right(given.at(-1)!)
    }
  return { given, read }
}

test('what was read ahead of a step that ended early is freed, and nothing is read from then on', async () => {
  const { given, read } = slow()
  const { readWindow, stop } = readAhead(read, [0, 2, 4].map(windowAt).values())
  must(await readWindow(windowAt(0))())
  await stop()
  assert.equal(
    given.map(({ length }) => length),
    [1, 0]
  )
  await stop()
  const waiting = slow()
  const ahead = readAhead(waiting.read, [0, 2, 4].map(windowAt).values())
  must(await ahead.readWindow(windowAt(0))())
  const second = ahead.readWindow(windowAt(2))()
  await ahead.stop()
  assert.equal([...must(await second)], [2])
  assert.is(waiting.given.length, 2)
})

test('an image is read ahead as long as it is used, whether that fails or not', async () => {
  const { program } = must(
    stage({
      ...{ model: net, objective: { kind: 'evaluate' }, strategy: 'plain', device: must(deviceModel('cpu', 'float32', 1)) },
      source: { kind: 'image', mean: [0.5, 0.5, 0.5], deviation: [0.2, 0.2, 0.2] }
    })
  )
  const { given, read } = slow()
  const pixels: ReadPixels = { windowBytes: 700, tile: { height: 8, width: 8 }, readWindow: read }
  const [first] = windowsOfStep(program, pixels, 3)
  const used = withReadAhead({ pixels, height: 96, width: 130, channels: 3 }, program, ({ pixels: ahead }) =>
    TE.chain(() => TE.left(inputFailure('cut')))(TE.mapLeft(() => inputFailure('unread'))((ahead as ReadPixels).readWindow(first!)))
  )
  assert.equal(await used(), E.left(inputFailure('cut')))
  assert.equal(
    given.map(({ length }) => length),
    [1, 0]
  )
})

test.run()
