/**
 * What can be wrong with masks, with networks that normalise and with their weights, through the
 * command line.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { builtIn } from '../../../models'
import { buildGraph } from '../../../staging'
import { writeTensors } from '../../../src/weights/safetensors'
import { must } from '../../must'
import { compiledCommand } from '../compiled-command'
import { filledTensor } from '../filled-tensor'
import { writePng } from '../image-files'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const { runInTurn: run } = compiledCommand()
const at = (name: string): string => join(folder, name)

/** Zeros for all that a built-in network of two classes holds. */
const writeZeros = async (name: string): Promise<void> => {
  const { parameters } = must(buildGraph(builtIn[name]!({ classes: 2 }), [2, 3, 64, 64]))
  await valueOf(
    writeTensors(
      at(`${name}.safetensors`),
      parameters.map(({ name, shape }) => filledTensor(name, shape))
    )
  )
}

test.before(async () => {
  const mask = (name: string, width: number, value: number): void =>
    writePng(at(name), new Uint8Array(64 * width).fill(value), { height: 64, width, bitDepth: 8 })
  await sharp({ create: { width: 64, height: 64, channels: 3, background: 'brown' } })
    .png()
    .toFile(at('image.png'))
  mask('right.png', 64, 1)
  mask('narrow.png', 60, 1)
  mask('seven.png', 64, 7)
  mask('ignored.png', 64, 255)
  for (const name of ['right', 'narrow', 'seven', 'ignored', 'image'])
    writeFileSync(at(`${name}.csv`), `path,mask\nimage.png,right.png\nimage.png,${name}.png\n`)
  writeFileSync(at('only-ignored.csv'), 'path,mask\nimage.png,ignored.png\n')
  await Promise.all(['resnet18', 'resnet34'].map(writeZeros))
})

const train = (model: string, data: string, ...more: readonly string[]): readonly string[] => [
  ...['train', model, '--data', at(data), '--classes', '2', '--input', '2x3x64x64', '--steps', '1', '--strategy', 'plain'],
  ...more
]
const predict = (model: string, weights: string): readonly string[] => [
  ...['predict', model, '--classes', '2', '--weights', at(`${weights}.safetensors`), '--image', at('image.png'), '--strategy', 'plain']
]

const cases: readonly (readonly [name: string, args: readonly string[], sentence: RegExp])[] = [
  [
    'a mask of another size',
    train('unet', 'narrow.csv'),
    /^.*narrow\.csv line 3: the mask .*narrow\.png is 64x60 but its image is 64x64: give each image its own\.$/
  ],
  [
    'a class out of range',
    train('unet', 'seven.csv'),
    /^.*seven\.csv line 3: the mask .*seven\.png holds the class 7, out of range: the model's classes are 0 to 1, and 255 is ignored\.$/
  ],
  [
    'a mask of colours',
    train('unet', 'image.csv'),
    /^.*image\.csv line 3: the mask .*image\.png has colours or 16 bits: store the class of each pixel as 8-bit grey, or as a palette\.$/
  ],
  [
    'class weights of masks where no pixel counts',
    train('unet', 'only-ignored.csv', '--class-weights', 'balanced'),
    /^.*only-ignored\.csv line 2: no pixel of the training masks counts, nor lies in a polygon of a class: label some\.$/
  ],
  [
    'sides that poolings do not divide',
    ['plan', 'unet', '--input', '1x3x40x56'],
    /^unet on 1x3x40x56: concat: the branches differ, 1x512x5x7 and 1x512x4x6; take sides that its poolings divide, such as 32x48\.$/
  ],
  [
    'a crop that poolings do not divide',
    ['train', 'unet', '--data', at('right.csv'), '--crop', '40x56'],
    /^unet on 1x3x40x56: concat: the branches differ, 1x512x5x7 and 1x512x4x6; take sides that its poolings divide, such as 32x48\.$/
  ],
  [
    'class weights that are all zero',
    train('unet', 'right.csv', '--class-weights', '0,0'),
    /^--class-weights are all 0: nothing would be learnt\.$/
  ],
  [
    'a loss of numbers',
    train('unet', 'right.csv', '--loss', 'mean-squared-error'),
    /^the loss of unet compares numbers, and masks hold classes: leave that loss out\.$/
  ],
  ['a mask for a network that scores images', train('resnet18', 'right.csv'), /^[^\n]*mask[^\n]*\.$/],
  [
    'one value per channel into batchNorm',
    ['plan', 'deeplabv3_resnet50', '--input', '1x3x64x64'],
    /^deeplabv3_resnet50 on 1x3x64x64: classifier\.0\.convs\.4\.2: batchNorm: one value per channel, 1x256x1x1, has no variance; give it more pixels or images, or freeze it\.$/
  ],
  [
    'weights of a shallower network',
    predict('resnet34', 'resnet18'),
    /^.*resnet18\.safetensors: lacks layer1\.2\.conv1\.weight \[64, 64, 3, 3\], which resnet34 needs\.$/
  ],
  [
    'weights of a deeper network',
    predict('resnet18', 'resnet34'),
    /^.*resnet34\.safetensors: holds layer1\.2\.\S+, which resnet18 has not\.$/
  ]
]

for (const [name, args, sentence] of cases)
  test(`${name}: one sentence, exit 2`, async () => {
    const { status, stdout, stderr } = await run([...args, '--json'])
    assert.is(status, 2, stderr)
    assert.match(stderr.trimEnd(), sentence)
    assert.equal(JSON.parse(stdout), { error: { code: 'input', message: stderr.trimEnd() } })
  })

test.run()
