import fc from 'fast-check'
import * as TE from 'fp-ts/TaskEither'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { type Image, deviceModel } from '../../native'
import { stage, verify, type Segment } from '../../staging'
import type { Kernel } from '../../staging/kernels/kernels'
import { asWritten } from '../golden/execute'
import { arena, index, launch, loop, open, parameters, stepIo } from '../native/program'
import { must } from '../must'
import { randomSegments } from '../staging/random-segments'
import { drawsOf, type Draw } from '../staging/random-nets'
import { propertyRuns } from '../property-runs'
import { devices, outcome, training } from './image-steps'
import { executionOf, randomExecution, type RandomExecution } from './random-execution'

type Held = Image & { readonly pixels: Uint8Array }

/** Of one colour, or two side by side, with a patch of noise or without. */
const plainImages = (draw: Draw, [batch, channels, height, width]: readonly number[]): readonly Held[] =>
  Array.from({ length: batch! }, () => {
    const colours = [draw(0, 255), draw(0, 3) === 0 ? draw(0, 255) : undefined]
    const [edge, patch] = [draw(0, width!), draw(0, 2) > 0 ? [draw(0, height! - 1), draw(0, width! - 1), draw(1, 4)] : undefined]
    const pixels = Uint8Array.from({ length: height! * width! * channels! }, (_, at) => {
      const [row, column] = [Math.floor(at / channels! / width!), Math.floor(at / channels!) % width!]
      const isPatch = patch !== undefined && Math.abs(row - patch[0]!) < patch[2]! && Math.abs(column - patch[1]!) < patch[2]!
      return isPatch ? draw(0, 255) : ((column < edge ? colours[0] : colours[1]) ?? colours[0])! + (at % channels!)
    })
    const place = { cropTop: 0, cropLeft: 0, flipHorizontal: draw(0, 1) === 1, flipVertical: false, quarterTurns: 0 as const }
    return { pixels, height: height!, width: width!, channels: channels!, ...place }
  })

/** The same image, read by windows of a few pixels. */
const byWindows = (image: Held, windowBytes: number): Image => {
  const { pixels, width, channels } = image
  return {
    ...image,
    pixels: {
      windowBytes,
      tile: { height: 4, width: 4 },
      readWindow: ({ top, left, height, width: across }) =>
        TE.right(
          Uint8Array.from({ length: height * across * channels }, (_, at) => {
            const [row, column] = [Math.floor(at / channels / across), Math.floor(at / channels) % across]
            return pixels[((top + row) * width + left + column) * channels + (at % channels)]!
          })
        )
    }
  }
}

/** Tiles that were not computed, of steps which leave what they leave when all are. */
const repeatedTiles = async (
  device: (typeof devices)[number],
  execution: RandomExecution,
  segments: readonly Segment[]
): Promise<number> => {
  const { program } = must(
    stage({
      ...{ model: execution.model, input: execution.input!, objective: training, strategy: 'plain' },
      device: must(deviceModel(device.name, device.precision, 2)),
      source: { kind: 'image', mean: [0.1, 0.2, 0.3, 0.4], deviation: [0.5, 0.6, 0.7, 0.8] },
      given: asWritten(segments)
    })
  )
  must(verify(program))
  const images = plainImages(execution.draw, execution.input!)
  const windowBytes = execution.draw(1, 400)
  const expected = await outcome(device, execution, images, program, true)
  const inMemory = await outcome(device, execution, images, program)
  const actual = await outcome(
    device,
    execution,
    images.map((image) => byWindows(image, windowBytes)),
    program
  )
  assert.equal(inMemory.found, expected.found)
  assert.equal(actual.found, expected.found)
  assert.equal([expected.repeatedTiles, inMemory.repeatedTiles], [0, actual.repeatedTiles])
  return actual.repeatedTiles
}

test('tiles of one colour are computed once where they follow each other, which changes no bit', async () => {
  let repeated = 0
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), fc.constantFrom(...devices), async (seed, device) => {
      const execution = randomExecution(seed)
      repeated += await repeatedTiles(device, execution, randomSegments(execution.draw, execution.graph))
    }),
    propertyRuns(60, 20)
  )
  assert.ok(repeated > 0)
})

/** With a skip, so that channels are put together. */
const segmenting: readonly dsl.AnyLayer[] = [
  dsl.conv2d({ out: 8, k: 3, p: 1 }),
  dsl.relu,
  dsl.parallel([[], [dsl.maxPool2d({ k: 2 }), dsl.conv2d({ out: 8, k: 3, p: 1 }), dsl.relu, dsl.convTranspose2d({ out: 8, k: 2, s: 2 })]]),
  dsl.conv2d({ out: 3, k: 3, p: 1 }),
  dsl.pixelCrossEntropy()
]

/** What maps coordinates at its end alone. */
const enlarging: readonly dsl.AnyLayer[] = [
  dsl.conv2d({ out: 8, k: 3, p: 1, s: 2 }),
  dsl.relu,
  dsl.conv2d({ out: 3, k: 3, p: 1 }),
  dsl.resize({ mode: 'bilinear', scale: 2 }),
  dsl.pixelCrossEntropy()
]

for (const [name, layers] of Object.entries({ segmenting, enlarging }))
  for (const device of devices)
    for (const [grid, least] of [
      [{ B: 1, H: 1, W: 12 }, 9],
      [{ B: 1, H: 4, W: 12 }, 18],
      [{ B: 1, H: 8, W: 1 }, 3]
    ] as const)
      test(`on ${device.name}, a white image of ${grid.H}x${grid.W} tiles is hardly computed (${name})`, async () => {
        const draw = drawsOf(1)
        const execution = executionOf(draw, { model: { name, layers }, input: [1, 3, 32, 96] }, (_, { input }) =>
          Array.from({ length: input[2] * input[3] }, () => draw(0, 2))
        )
        const { length } = execution.graph.nodes
        const white = { ...execution, draw: () => 0 }
        const found = await repeatedTiles(device, white, [{ from: 0, to: length, grid, recompute: true, reorder: 'once' }])
        // But for those at the border, and the first of each row of others: of the evaluation.
        assert.ok(found >= least, `${found}`)
      })

/** [rows, 8] of one row after another, copied or added. */
const rowsOf = (add: 0 | 1): Kernel => ({
  ...{ kind: 'copyBox', n0: 1, n1: 1, n2: 1, n3: 8, sourceStride0: 0, sourceStride1: 0, sourceStride2: 0 },
  ...{ destinationStride0: 0, destinationStride1: 0, destinationStride2: 0, add, ofParameters: 0 }
})

for (const { name } of devices.filter(({ precision }) => precision === 'float32'))
  test(`on ${name}, what was launched before a plain tile is loaded reads what was there`, async () => {
    const row: Kernel = {
      ...{ kind: 'loadImage', batch: 1, channels: 1, height: 1, width: 8, layout: 0, fullHeight: 4, fullWidth: 8 },
      normalisation: [0, 1 / 255]
    }
    const code = [
      launch(0, stepIo(0), arena(0)),
      launch(0, stepIo(32), arena(64)),
      launch(1, arena(0), arena(64)),
      loop(
        'H',
        4,
        launch(2, arena(0), index(0), index(0, [0, 1, 0]), index(0)),
        launch(0, arena(0), arena(128)),
        launch(0, arena(128), arena(256, [0, 64, 0]))
      ),
      launch(0, arena(64), stepIo(64))
    ]
    const kernels = [rowsOf(0), rowsOf(1), row]
    const session = must(open({ kernels, code, stepIoBytes: 96, precision: 'float32', input: [1, 1, 4, 8] }, name))
    const upright = { cropTop: 0, cropLeft: 0, flipHorizontal: false, flipVertical: false, quarterTurns: 0 } as const
    const image = { pixels: new Uint8Array(32).fill(200), height: 4, width: 8, channels: 1, ...upright }
    for (const run of [1, 2, 3]) {
      const values = Float32Array.from({ length: 24 }, (_, place) => place)
      must(await session.run('step', values.buffer, parameters, [name === 'cuda' ? image : byWindows(image, 32)])())
      assert.equal(
        [...values.slice(16)],
        Array.from({ length: 8 }, (_, place) => 8 + 2 * place),
        `run ${run}`
      )
    }
    assert.ok(session.repeatedTiles() > 0)
    session.close()
  })

test.run()
