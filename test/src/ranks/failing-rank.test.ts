/** Trainings on ranks of Open MPI of which one alone fails, after steps that went well. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compiledCommand } from '../compiled-command'
import { launch, newestStep, withLauncher } from '../open-mpi'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const command = compiledCommand()

/** In a copy of an image the tiles in its middle, behind what ranks compare, are no JPEGs. */
const damage = (from: string, to: string): void => {
  const bytes = readFileSync(from)
  const start = Buffer.from([0xff, 0xd8, 0xff])
  const [first, last] = [bytes.length / 3, (2 * bytes.length) / 3]
  for (let place = bytes.indexOf(start, first); place >= 0 && place < last; place = bytes.indexOf(start, place))
    bytes.fill(0, place, place + start.length)
  writeFileSync(to, bytes)
}

/** Square images, so many, of which the second rank has another copy, the last one damaged. */
const writeCopies = async (name: string, count: number, side: number): Promise<void> => {
  const names = Array.from({ length: count }, (_, index) => `${index}.tif`)
  for (const rank of ['0', '1']) mkdirSync(at(name, rank), { recursive: true })
  await sharp({ create: { height: side, width: side, channels: 3, background: 'teal' } })
    .tiff({ compression: 'jpeg', tile: true, tileWidth: 64, tileHeight: 64 })
    .toFile(at(name, '0', '0.tif'))
  for (const rank of ['0', '1']) {
    for (const image of names) if (rank === '1' || image !== '0.tif') copyFileSync(at(name, '0', '0.tif'), at(name, rank, image))
    writeFileSync(at(name, rank, 'list.csv'), `path,label\n${names.map((image, index) => `${image},${index % 2}\n`).join('')}`)
  }
  damage(at(name, '0', '0.tif'), at(name, '1', names.at(-1)!))
}

/**
 * Trains on two ranks, each with its own copy of the images, until the second one cannot read one,
 * after a step at least: all end with its sentence, said once, and its status.
 */
const assertEndsAfterSteps = async (name: string, network: string, ...more: readonly string[]): Promise<void> => {
  const start = at(name, 'start.js')
  writeFileSync(
    start,
    `process.argv[1] = ${JSON.stringify(command.script)}
process.argv = process.argv.map((word) => word.replace('RANK', process.env.OMPI_COMM_WORLD_RANK))
require('node:module').runMain()
`
  )
  const files = ['--data', at(name, 'RANK', 'list.csv'), '--state', at(name, 'state'), '--state-every', '1']
  const said = ['--seed', '1', '--threads', '1', '--no-measure', '--quiet', '--json']
  const { status, stdout, stderr, milliseconds } = await launch(2, [start, 'train', network, ...files, '--steps', '40', ...said, ...more])
  assert.is(status, 2, stderr)
  const sentence = /rank 1: the image .*\/1\/\d\.tif cannot be read at rows \d+ to \d+/g
  assert.match(JSON.parse(stdout).error.message, sentence)
  assert.is(stderr.match(sentence)?.length, 1, stderr)
  assert.ok(newestStep(at(name, 'state')) >= 1)
  assert.ok(milliseconds < 60_000, `${milliseconds}`)
}

withLauncher('an image that one rank alone cannot read ends all, and is said once, with its number', async () => {
  await writeCopies('small', 8, 768)
  await assertEndsAfterSteps('small', command.model, '--accumulate', '2')
})

/** Crops of more than 2^28 bytes are read window by window, as a step computes them. */
const writeLarge = (): string => {
  const dsl = JSON.stringify(join(command.script, '..', '..', 'dsl'))
  const layers = '[conv2d({ out: 2, k: 16, s: 16 }), relu, globalAvgPool, linear({ out: 2 })]'
  writeFileSync(
    at('large.js'),
    `const { conv2d, globalAvgPool, linear, model, relu } = require(${dsl})
exports.default = model({ name: 'large', input: [1, 3, 6720, 6720], layers: ${layers} })
`
  )
  return at('large.js')
}

withLauncher('what one rank alone cannot read within a step, in which the other waits for it, ends both', async () => {
  await writeCopies('large', 2, 6720)
  await assertEndsAfterSteps('large', writeLarge(), '--shard-rows', '--network', '1000GB/s,1ns')
})

test.run()
