/**
 * Images in tiles, and what is predicted of them, are never whole in memory: the peak of a process
 * that predicts, and trains.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { inSystems } from '../in-systems'
import { runScript } from '../src/command-line'
import { compiledCommand } from '../src/compiled-command'
import { temporaryFolder } from '../src/temporary-folder'
import { writeRepeatedTiff } from '../src/tiled-tiff'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const side = inSystems ? 100_000 : 16_384
const megabyte = 1e6
/** Of the budget; beside it; and of that what is more than for a small image, here 60 of plans. */
const [budget, mostBeside, mostForSize] = [100, 300, 130]

/** Says, in the end, the most memory that its process had, in kB. */
const hook = `process.on('exit', () => process.stderr.write('peak ' + process.resourceUsage().maxRSS + '\\n'))`

const { script } = compiledCommand()

const modelOf = (name: string, layers: string): string => `
const { conv2d, globalAvgPool, linear, maxPool2d, model, relu, resize } = require('${join(dirname(script), '..', 'dsl')}')
const layers = [conv2d({ out: 8, k: 3, s: 4, p: 1 }), relu, maxPool2d({ k: 2 }), ${layers}]
exports.default = model({ name: '${name}', input: [1, 3, 512, 512], layers })
`

const extents = { large: side, small: 512 } as const

test.before(async () => {
  writeFileSync(at('hook.js'), hook)
  writeFileSync(at('strided.js'), modelOf('strided', 'globalAvgPool, linear({ out: 2 })'))
  writeFileSync(at('segmenting.js'), modelOf('segmenting', `conv2d({ out: 3, k: 1 }), resize({ mode: 'nearest', scale: 8 })`))
  for (const [name, extent] of Object.entries(extents)) {
    for (const label of ['a', 'b']) mkdirSync(at(name, label), { recursive: true })
    writeRepeatedTiff(at(name, 'a', 'image.tif'), extent)
  }
  await sharp({ create: { width: 512, height: 512, channels: 3, background: '#010101' } })
    .toColourspace('b-w')
    .png()
    .toFile(at('mask.png'))
  writeFileSync(at('masks.csv'), `path,mask\n${at('small', 'a', 'image.tif')},${at('mask.png')}\n`)
})

const peakOf = async (...args: readonly string[]): Promise<number> => {
  const { status, stderr } = await runScript(['--require', at('hook.js'), script, ...args])
  assert.is(status, 0, stderr)
  return (Number(/peak (\d+)/.exec(stderr)![1]) * 1024) / megabyte
}

const common = (model: string): readonly string[] => [at(`${model}.js`), '--budget', `${budget}MB`, '--threads', '2']
const train = (model: string, data: string, extent: number): Promise<number> =>
  peakOf(
    ...['train', ...common(model), '--input', `1x3x${extent}x${extent}`],
    ...['--data', data, '--steps', '1', '--flip', '--save', at(`${model}.safetensors`)]
  )
const predict = (model: string, image: keyof typeof extents): Promise<number> =>
  peakOf(
    ...['predict', ...common(model), '--weights', at(`${model}.safetensors`), '--image', at(image, 'a', 'image.tif')],
    ...(model === 'segmenting' ? ['--out', at(`${image}.tif`)] : [])
  )

test(`of an image of ${side}x${side} in tiles, and of the mask that is predicted of it, there are windows in memory`, async () => {
  const trained = [await train('strided', at('small'), extents.small), await train('strided', at('large'), side)]
  await train('segmenting', at('masks.csv'), extents.small)
  const classified = [await predict('strided', 'small'), await predict('strided', 'large')]
  const segmented = [await predict('segmenting', 'small'), await predict('segmenting', 'large')]
  for (const [what, [small, large]] of Object.entries({ training: trained, classes: classified, masks: segmented })) {
    console.log(`${what}: ${Math.round(large!)} MB, ${Math.round(small!)} MB for a small image`)
    assert.ok(large! < budget + mostBeside, `${what} took ${large} MB with a budget of ${budget}`)
    assert.ok(large! < small! + budget + mostForSize, `${what} took ${large} MB, where a small image takes ${small}`)
  }
  // What the mask takes by itself would be seen.
  assert.ok(side ** 2 / megabyte > mostForSize + budget)
})

test.run()
