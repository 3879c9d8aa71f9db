/** Ranks that share the images of micro-batches read those that their steps read, and no others. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, type Layers } from '../../../dsl'
import { readDataset } from '../../../src'
import { createBatches } from '../../../src/training/batches/batches'
import { createImageLoader } from '../../../src/training/batches/image-loader'
import { imagesRead, stage } from '../../../staging'
import { referenceModel } from '../../../staging/devices/reference-model'
import { must } from '../../must'
import { writeImages } from '../example-images'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const data = join(folder, 'images')

test.before(() => writeImages(data, 6))

test('of a batch a rank loads the images that it reads, as all ranks would, and all labels', async () => {
  const [crop, batch] = [{ height: 16, width: 16 }, 4] as const
  const dataset = await valueOf(readDataset(data))
  const loading = (rowsRead?: { readonly from: number; readonly to: number }, onSkipped?: () => void) => {
    const loader = createImageLoader({ crop, batch, rotate: false, resolution: { level: 0 }, pixelBytes: 3 })
    const read: string[] = []
    const counting = {
      ...loader,
      image: (...[example, place]: Parameters<typeof loader.image>) => {
        read.push(example.path)
        return loader.image(example, place)
      }
    }
    const { load } = createBatches({
      ...{ dataset, classes: 2, seed: 3, batch, crop, flip: true, rotate: false, colourJitter: undefined, loader: counting, rowsRead },
      regions: { cellsOf: () => undefined },
      ...(onSkipped && { onSkipped })
    })
    return { load, read }
  }
  const whole = loading()
  for (const part of [loading({ from: 2, to: 4 }), loading({ from: 2, to: 4 }, () => undefined)])
    for (const microStep of [0, 1]) {
      const all = await valueOf(whole.load(microStep))
      const own = await valueOf(part.load(microStep))
      assert.equal(Array.from(own.target), Array.from(all.target))
      assert.is(own.images.length, batch)
      assert.equal(own.images.slice(2), all.images.slice(2))
      assert.equal(part.read.splice(0), whole.read.splice(0).slice(2))
    }
})

test('a rank reads its part of the images, and all of them where a segment that reads them runs on all ranks alike', () => {
  const layers = [conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })] as const
  const readBy = (index: number, shards: { readonly B: number; readonly H: number }) => {
    const segment = { from: 0, to: 4, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once', shards } as const
    const staged = stage({
      model: model({ name: 'shared', input: [5, 3, 16, 16], layers: layers as Layers as typeof layers }),
      device: referenceModel('float64'),
      strategy: 'sft',
      given: { order: [0, 1, 2, 3], segments: [segment] },
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, shard: { count: 2, index, images: 2 } },
      source: { kind: 'float' }
    })
    return imagesRead(must(staged))
  }
  assert.equal(
    [0, 1].map((index) => readBy(index, { B: 2, H: 1 })),
    [
      { from: 0, to: 3 },
      { from: 3, to: 5 }
    ]
  )
  assert.equal(readBy(1, { B: 1, H: 1 }), { from: 0, to: 5 })
})

test.run()
