/** Predictions of lists on ranks that Open MPI's launcher starts, where there is one. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { train } from '../../src'
import { compiledCommand } from './compiled-command'
import { noise, writeColours } from './example-images'
import { writePng } from './image-files'
import { launch, withLauncher } from './open-mpi'
import { valueOf } from './outcome'
import segmenting from './segmenting-model'
import small from './small-model'
import { temporaryFolder } from './temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const names = ['a', 'b', 'c', 'd', 'e']

const { script, smallModel: model } = compiledCommand()
/** segmenting-model.ts in JavaScript, beside it. */
const segmentingModel = join(dirname(model), 'segmenting-model.js')

test.before(async () => {
  const source = readFileSync(join(__dirname, 'segmenting-model.ts'), 'utf8')
  const compilerOptions = { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022 }
  writeFileSync(segmentingModel, transpileModule(source, { compilerOptions }).outputText)
  mkdirSync(at('images'))
  for (const [index, name] of names.entries())
    await writeColours(at('images', `${name}.png`), noise((32 + 4 * (index % 2)) * 32 * 3, index), {
      height: 32 + 4 * (index % 2),
      width: 32
    })
  writeFileSync(at('images', 'cut.png'), readFileSync(at('images', 'a.png')).subarray(0, 200))
  const training = { device: 'reference', threads: 1, steps: 1, seed: 1 } as const
  writeFileSync(at('classes.csv'), 'images/a.png,0\nimages/c.png,1\n')
  await valueOf(train({ ...training, model: small, data: at('classes.csv'), save: at('small.safetensors') }))
  writePng(at('mask.png'), Buffer.alloc(32 * 32, 1), { height: 32, width: 32, bitDepth: 8 })
  writeFileSync(at('masks.csv'), 'images/a.png,mask.png\nimages/c.png,mask.png\n')
  await valueOf(train({ ...training, model: segmenting, data: at('masks.csv'), save: at('pixels.safetensors') }))
})

const predictOf = (network: string, weights: string, out: string, ...more: readonly string[]): readonly string[] => [
  ...[script, 'predict', network, '--weights', at(weights), '--data', at('images'), '--out', at(out), '--threads', '1', '--json'],
  ...more
]

/** What does not depend on times or on who ran it. */
const told = (stdout: string): unknown => {
  const { images, skipped } = JSON.parse(stdout)
  const timeless = (images as readonly { readonly milliseconds: number; readonly files?: unknown }[]).map(
    ({ milliseconds: _, files: __, ...image }) => image
  )
  return { images: timeless, skipped }
}

withLauncher('ranks share a list: one table, in the order of the list, and one answer', async () => {
  const alone = spawnSync(process.execPath, predictOf(model, 'small.safetensors', 'alone.csv', '--skip-bad'), { encoding: 'utf8' })
  assert.is(alone.status, 0, alone.stderr)
  const { status, stdout, stderr } = await launch(3, predictOf(model, 'small.safetensors', 'ranks.csv', '--skip-bad'))
  assert.is(status, 0, stderr)
  assert.equal(told(stdout), told(alone.stdout))
  assert.is(JSON.parse(stdout).images.length, names.length)
  assert.equal(readFileSync(at('ranks.csv')), readFileSync(at('alone.csv')))
})

withLauncher('each rank writes the masks of its images', async () => {
  const alone = spawnSync(process.execPath, predictOf(segmentingModel, 'pixels.safetensors', 'alone', '--skip-bad'), { encoding: 'utf8' })
  assert.is(alone.status, 0, alone.stderr)
  const { status, stderr } = await launch(2, predictOf(segmentingModel, 'pixels.safetensors', 'ranks', '--skip-bad'))
  assert.is(status, 0, stderr)
  assert.equal(readdirSync(at('ranks')), readdirSync(at('alone')))
  for (const name of readdirSync(at('alone'))) assert.equal(readFileSync(at('ranks', name)), readFileSync(at('alone', name)), name)
})

withLauncher('a bad image of one rank ends all, said once', async () => {
  const { status, stdout, stderr } = await launch(2, predictOf(model, 'small.safetensors', 'none.csv'))
  assert.is(status, 2, stderr)
  assert.match(JSON.parse(stdout).error.message, /cut\.png/)
})

withLauncher('a heat map is of one process', async () => {
  const args = [script, 'predict', model, '--weights', at('small.safetensors'), '--image', at('images', 'a.png')]
  const { status, stderr } = await launch(2, [...args, '--heatmap', 'cam', '--out', at('map.png')])
  assert.is(status, 2, stderr)
  assert.match(stderr, /--heatmap is of one image, which ranks cannot share: run it without a launcher of MPI/)
})

test.run()
