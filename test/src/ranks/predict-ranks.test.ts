/** Predictions of lists on ranks that Open MPI's launcher starts, where there is one. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { localNetworks } from '../../../native'
import { train } from '../../../src'
import { busiestMilliseconds, workOf } from '../../../src/commands/gather-predictions'
import { predictImages } from '../../../src/commands/predict-images'
import { predictOptions } from '../../../src/option-tables/predict-options'
import { libraryFunction } from '../../../src/options/decode-options'
import { createRanks } from '../../../src/ranks/ranks'
import { must } from '../../must'
import { compiledCommand } from '../compiled-command'
import { noise, writeColours } from '../example-images'
import { writePng } from '../image-files'
import { launch, ranksWith, withLauncher } from '../open-mpi'
import { valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const names = ['a', 'b', 'c', 'd', 'e']

const { script, smallModel: model } = compiledCommand()
/** segmenting-model.ts in JavaScript, beside it. */
const segmentingModel = join(dirname(model), 'segmenting-model.js')

test.before(async () => {
  const source = readFileSync(join(__dirname, '..', 'segmenting-model.ts'), 'utf8')
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

test('a rank takes as long for the most pixels, or extents, as at the pace of another', () => {
  const [small, large] = [workOf([{ height: 2, width: 3 }]), workOf([...'aaaa'].map(() => ({ height: 4, width: 3 })))]
  const extents = workOf([1, 2, 3].map((height) => ({ height, width: 1 })))
  assert.equal(
    [small, large, extents].map(({ pixels, extents: planned }) => [pixels, planned]),
    [
      [6, 1],
      [48, 1],
      [6, 3]
    ]
  )
  assert.is(busiestMilliseconds([small, large, workOf([])], small, 10), 80)
  assert.is(busiestMilliseconds([small, extents], small, 10), 30)
  assert.is(busiestMilliseconds([small], workOf([]), 10), Infinity)
})

test('once its own images are done a rank waits for the others for a minute and 20 times what they may take', async () => {
  const limitsOf = async (size: number, mostWait?: number): Promise<readonly (readonly number[])[]> => {
    const limits: number[][] = Array.from({ length: size }, () => [])
    const ended = await Promise.all(
      must(localNetworks(size)).map((network) => {
        const told = { ...network, limitWaits: (limit: number) => (limits[network.rank]!.push(limit), network.limitWaits(limit)) }
        const ranks = createRanks(told, mostWait)
        const run = libraryFunction('predict', predictOptions, (options) => predictImages(options, ranks))
        const data = { weights: at('small.safetensors'), data: at('few.csv'), out: at(`few-${size}.csv`) }
        return run({ model: small, ...data, device: 'reference', threads: 1 })()
      })
    )
    ended.forEach(must)
    return limits
  }
  writeFileSync(at('few.csv'), ['a', 'b', 'c'].map((name) => `images/${name}.png\n`).join(''))
  for (const [opening, , limit = 0, ...rest] of await limitsOf(2)) {
    assert.is(opening, 0)
    assert.ok(limit > 60_000 && limit < 20 * 60_000, `${limit}`)
    assert.equal(rest, [0])
  }
  // One that has no images has no pace, and waits for ever.
  assert.is((await limitsOf(4))[3]![2], 0)
  for (const told of await limitsOf(2, 3000)) assert.equal(told, [3000, 0, 3000, 0])
})

withLauncher('a rank that hangs ends all within seconds, and is named', async () => {
  const [many, out] = [at('many'), at('hanging')]
  mkdirSync(many)
  await writeColours(join(many, '0.png'), noise(128 * 128 * 3, 1), { height: 128, width: 128 })
  for (let index = 1; index < 200; index += 1) copyFileSync(join(many, '0.png'), join(many, `${index}.png`))
  const files = ['--weights', at('pixels.safetensors'), '--data', many, '--out', out]
  const args = [script, 'predict', segmentingModel, ...files, '--device', 'reference', '--threads', '1', '--json']
  const stop = async (): Promise<void> => {
    for (let tries = 0; tries < 600 && (!existsSync(out) || !readdirSync(out).some((name) => name.endsWith('.tif'))); tries += 1)
      await wait(50)
    process.kill(ranksWith(out).at(-1)!, 'SIGSTOP')
  }
  const { status, stdout, stderr } = await launch(2, args, () => void stop(), { TILEFOLD_RANK_TIMEOUT: '3' })
  assert.is(status, 1, stderr)
  assert.match(`${stdout}${stderr}`, /rank 1 hangs: the others have waited for more than 3 seconds/)
  // A process that is stopped ends a moment after the launcher, which has killed it.
  for (let tries = 0; tries < 100 && ranksWith(out).length > 0; tries += 1) await wait(100)
  assert.equal(ranksWith(out), [])
})

withLauncher('a heat map is of one process', async () => {
  const args = [script, 'predict', model, '--weights', at('small.safetensors'), '--image', at('images', 'a.png')]
  const { status, stderr } = await launch(2, [...args, '--heatmap', 'cam', '--out', at('map.png')])
  assert.is(status, 2, stderr)
  assert.match(stderr, /--heatmap is of one image, which ranks cannot share: run it without a launcher of MPI/)
})

test.run()
