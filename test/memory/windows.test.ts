/** Images in tiles are never whole in memory: the peak of a process that predicts, and trains. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { root, runScript } from '../src/command-line'
import { temporaryFolder } from '../src/temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const side = 16_384
const megabyte = 1e6
/** Of the budget, beside what the process takes for a small image. */
const [budget, mostBeside] = [100, 200]

/** Says, in the end, the most memory that its process had, in kB. */
const hook = `process.on('exit', () => process.stderr.write('peak ' + process.resourceUsage().maxRSS + '\\n'))`

const model = `import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '${join(root, 'dsl')}'
export default model({
  name: 'strided',
  input: [1, 3, 512, 512],
  layers: [conv2d({ out: 8, k: 3, s: 4, p: 1 }), relu, maxPool2d({ k: 2 }), globalAvgPool, linear({ out: 2 })]
})
`

test.before(async () => {
  writeFileSync(at('hook.js'), hook)
  writeFileSync(at('strided.ts'), model)
  for (const [name, extent] of [
    ['large', side],
    ['small', 512]
  ] as const)
    for (const label of ['a', 'b']) {
      mkdirSync(at(name, label), { recursive: true })
      if (label === 'b') continue
      await sharp({ create: { width: extent, height: extent, channels: 3, background: '#804060' }, limitInputPixels: false })
        .tiff({ compression: 'deflate', tile: true, tileWidth: 512, tileHeight: 512, bigtiff: true })
        .toFile(at(name, 'image.tif'))
      renameSync(at(name, 'image.tif'), at(name, 'a', 'image.tif'))
    }
})

const peakOf = async (...args: readonly string[]): Promise<number> => {
  const { status, stderr } = await runScript(['--require', at('hook.js'), join(root, 'src', 'tilefold.js'), ...args])
  assert.is(status, 0, stderr)
  return (Number(/peak (\d+)/.exec(stderr)![1]) * 1024) / megabyte
}

const common = [at('strided.ts'), '--budget', `${budget}MB`, '--threads', '2'] as const
const training = (name: string, extent: number): readonly string[] => [
  ...['train', ...common, '--input', `1x3x${extent}x${extent}`],
  ...['--data', at(name), '--steps', '1', '--flip', '--save', at(`${name}.safetensors`)]
]

test('a process that trains on a whole image in tiles, and predicts one, holds windows of it', async () => {
  const small = await peakOf(...training('small', 512))
  const trained = await peakOf(...training('large', side))
  const predicted = await peakOf('predict', ...common, '--weights', at('small.safetensors'), '--image', at('large', 'a', 'image.tif'))
  const bytes = (3 * side * side) / megabyte
  for (const [what, peak] of [
    ['training', trained],
    ['prediction', predicted]
  ] as const) {
    console.log(`${what}: ${Math.round(peak)} MB, ${Math.round(small)} MB for a small image, the image ${Math.round(bytes)} MB`)
    assert.ok(peak < small + budget + mostBeside, `${what} took ${peak} MB, where a small image takes ${small}`)
  }
  assert.ok(bytes > budget + mostBeside)
})

test.run()
