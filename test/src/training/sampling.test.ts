import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cropCorner, createSampler } from '../../../src/training/batches/sampling'

const sampling = { seed: 5, examples: 7, batch: 3, flip: true }

test('each epoch goes through all examples once, in an order of its own', () => {
  const draws = createSampler(sampling)
  const seen = Array.from({ length: 14 }, (_, step) => draws(step).map(({ example }) => example)).flat()
  const epochs = Array.from({ length: 6 }, (_, epoch) => seen.slice(7 * epoch, 7 * epoch + 7))
  for (const epoch of epochs) assert.equal([...epoch].sort(), [0, 1, 2, 3, 4, 5, 6])
  assert.ok(new Set(epochs.map(String)).size > 1)
})

test('a step is drawn alike however it is reached, and otherwise under another seed', () => {
  const inOrder = createSampler(sampling)
  const all = Array.from({ length: 20 }, (_, step) => inOrder(step))
  assert.equal(createSampler(sampling)(19), all[19])
  assert.equal(createSampler(sampling)(4), all[4])
  assert.not.equal(createSampler({ ...sampling, seed: 6 })(4), all[4])
})

test('flips happen both ways where asked for, never otherwise', () => {
  const flips = (flip: boolean) =>
    Array.from({ length: 40 }, (_, step) => createSampler({ ...sampling, flip })(step))
      .flat()
      .map((draw) => [draw.flipHorizontal, draw.flipVertical].join())
  assert.is(new Set(flips(true)).size, 4)
  assert.equal([...new Set(flips(false))], ['false,false'])
})

test('crops reach every corner of the image and stay inside it', () => {
  const draw = { example: 0, flipHorizontal: false, flipVertical: false }
  const [image, crop] = [
    { height: 10, width: 8 },
    { height: 8, width: 8 }
  ]
  assert.equal(cropCorner({ ...draw, top: 0, left: 0 }, image, crop), { cropTop: 0, cropLeft: 0 })
  assert.equal(cropCorner({ ...draw, top: 1 - 2 ** -53, left: 1 - 2 ** -53 }, image, crop), { cropTop: 2, cropLeft: 0 })
})

test.run()
