import fc from 'fast-check'
import * as TE from 'fp-ts/TaskEither'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { type Image, deviceModel } from '../../native'
import { stage, verify, type Segment } from '../../staging'
import { asWritten } from '../golden/execute'
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

test.run()
