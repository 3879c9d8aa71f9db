/** Windows of an image are read before a step asks for them. */
import { setTimeout } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../../dsl'
import { type Image, type ImageWindow, type ReadPixels, deviceModel, openSession } from '../../../native'
import { inputFailure } from '../../../src/failure'
import { type LoadingSection, readAhead, windowsOfSection, withReadAhead } from '../../../src/running/read-ahead'
import { createStepIo } from '../../../native/session/step-io'
import { stage } from '../../../staging'
import { asWritten } from '../../golden/execute'
import { must } from '../../must'

const net = model({
  name: 'net',
  input: [2, 3, 96, 130],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })]
})

/** Crops of 96x130 in larger images: as they are, and flipped and turned. */
const placings = [
  { height: 110, width: 150, cropTop: 9, cropLeft: 14, flipHorizontal: false, flipVertical: false, quarterTurns: 0 },
  { height: 200, width: 140, cropTop: 3, cropLeft: 21, flipHorizontal: true, flipVertical: false, quarterTurns: 1 },
  { height: 100, width: 133, cropTop: 4, cropLeft: 1, flipHorizontal: true, flipVertical: true, quarterTurns: 2 },
  { height: 140, width: 100, cropTop: 7, cropLeft: 2, flipHorizontal: false, flipVertical: true, quarterTurns: 3 }
] as const

const stageTiled = (grid: { readonly B: number; readonly H: number; readonly W: number }, kind: 'evaluate' | 'train') =>
  must(
    stage({
      ...{ model: net, strategy: 'plain', device: must(deviceModel('cpu', 'float32', 1)) },
      objective: kind === 'evaluate' ? { kind } : { kind, optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 } },
      source: { kind: 'image', mean: [0.5, 0.5, 0.5], deviation: [0.2, 0.2, 0.2] },
      given: asWritten([
        { from: 0, to: 4, grid, recompute: true, reorder: 'once' },
        { from: 4, to: 7, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
      ])
    })
  ).program

const sectionOf = ({ step: { code }, kernels, input: [, , height, width] }: ReturnType<typeof stageTiled>): LoadingSection => ({
  ...{ code, kernels, extent: { height, width }, takesWhole: false }
})

for (const kind of ['evaluate', 'train'] as const)
  for (const grid of [
    { B: 1, H: 1, W: 1 },
    { B: 1, H: 5, W: 1 },
    { B: 2, H: 4, W: 6 }
  ])
    for (const [windowBytes, tile] of [
      [1, { height: 1, width: 1 }],
      [700, { height: 8, width: 8 }],
      [5000, { height: 16, width: 32 }],
      [100_000, { height: 16, width: 32 }]
    ] as const)
      test(`${kind}: of ${grid.B}x${grid.H}x${grid.W} tiles, windows of ${windowBytes} bytes are those that are expected`, async () => {
        const asked: (ImageWindow & { readonly image: number })[] = []
        const imageAt = (image: number, placing: (typeof placings)[number]): Image => {
          const readWindow: ReadPixels['readWindow'] = (window) => {
            asked.push({ image, ...window })
            return TE.right(new Uint8Array(window.height * window.width * 3).fill(asked.length))
          }
          return { ...placing, pixels: { windowBytes, tile, readWindow }, channels: 3 }
        }
        const program = stageTiled(grid, kind)
        for (const pair of [placings.slice(0, 2), placings.slice(2)]) {
          const images = pair.map((placing, image) => imageAt(image, placing))
          const session = must(openSession({ device: 'cpu', program, arenaBytes: program.peakBytes }))
          must(await session.run('step', createStepIo(program.step).buffer, { learningRate: 0, step: 0, seed: 0 }, images)())
          session.close()
          assert.ok(asked.length > 0)
          assert.equal([...windowsOfSection(sectionOf(program), images)], asked.splice(0))
        }
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

test('images are read ahead as long as they are used, whether that fails or not', async () => {
  const section = sectionOf(stageTiled({ B: 1, H: 1, W: 1 }, 'evaluate'))
  const { given, read } = slow()
  const pixels: ReadPixels = { windowBytes: 700, tile: { height: 8, width: 8 }, readWindow: read }
  const [placing] = placings
  const images = [
    { ...placing, cropTop: 0, cropLeft: 0, pixels, channels: 3 },
    { ...placing, pixels: new Uint8Array(110 * 150 * 3), channels: 3 }
  ]
  const [{ image, ...first } = { image: -1, top: 0, left: 0, height: 0, width: 0 }] = windowsOfSection(section, images)
  assert.is(image, 0)
  const used = withReadAhead(section, images, ([ahead, whole]) => {
    assert.is(whole, images[1])
    return TE.chain(() => TE.left(inputFailure('cut')))(
      TE.mapLeft(() => inputFailure('unread'))((ahead!.pixels as ReadPixels).readWindow(first))
    )
  })
  assert.equal(await used(), E.left(inputFailure('cut')))
  assert.equal(
    given.map(({ length }) => length),
    [1, 0]
  )
})

test('where a device takes crops whole, their windows are those of one after the other', () => {
  const section = { ...sectionOf(stageTiled({ B: 1, H: 4, W: 1 }, 'evaluate')), takesWhole: true }
  const { read } = recording()
  const images = placings.slice(0, 2).map((placing): Image => ({
    ...placing,
    pixels: { windowBytes: 2 ** 20, tile: { height: 16, width: 16 }, readWindow: read },
    channels: 3
  }))
  assert.equal(
    [...windowsOfSection(section, images)],
    [
      { image: 0, top: 9, left: 14, height: 96, width: 130 },
      { image: 1, top: 3, left: 21, height: 130, width: 96 }
    ]
  )
})

test.run()
