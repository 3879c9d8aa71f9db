/**
 * Weights from Hugging Face's hub, of which a small server takes the place: what it is asked, what
 * the cache holds then, and what is said where a file cannot be had.
 */
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { predict, train } from '../../../src'
import { writeImages } from '../example-images'
import { tilefold } from '../command-line'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const commit = '0123456789abcdef0123456789abcdef01234567'
const repository = 'tests/small-net'
const branches = ['a-branch'.padEnd(40, '-of-forty-letters'), 'refs/pr/1'] as const

interface Asked {
  readonly url: string
  readonly range: string | undefined
  readonly authorization: string | undefined
}

let server: Server
let asked: Asked[] = []
/** Bytes after which the server breaks off, but for the first one that tells the size. */
let breaksAfter = Infinity
let damages = false
/** Milliseconds after which the server sends what was asked for, but for the first one. */
let delay = 0

const respond = (weights: Buffer, etag: string): Server =>
  createServer((request, response) => {
    const { url = '', headers } = request
    const { range, authorization } = headers
    asked.push({ url, range, authorization })
    const end = (status: number, more: Record<string, string> = {}): void => void response.writeHead(status, more).end()
    if (url.startsWith('/tests/private/') && authorization !== 'Bearer hf_secret') return end(401)
    if (url.startsWith('/tests/broken/')) return end(503)
    if (!url.startsWith(`/${repository}/`) && !url.startsWith('/tests/private/')) return end(404)
    if (!['main', commit, ...branches].some((revision) => url.includes(`/resolve/${encodeURIComponent(revision)}/`)))
      return end(404, { 'x-error-code': 'RevisionNotFound' })
    if (!url.endsWith('/model.safetensors') && !url.endsWith('/parts/other.safetensors'))
      return end(404, { 'x-error-code': 'EntryNotFound' })
    const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? []
    const last = to === '' ? weights.length - 1 : Math.min(Number(to), weights.length - 1)
    response.writeHead(206, {
      'content-range': `bytes ${from}-${last}/${weights.length}`,
      'content-length': `${last - Number(from) + 1}`,
      etag: '"other"',
      'x-linked-etag': `"${etag}"`,
      'x-repo-commit': commit
    })
    const body = Buffer.from(weights.subarray(Number(from), last + 1))
    if (damages && body.length > 1) body[body.length - 1]! ^= 1
    if (body.length <= breaksAfter) return void setTimeout(() => response.end(body), body.length > 1 ? delay : 0).unref()
    response.write(body.subarray(0, breaksAfter), () => setTimeout(() => response.destroy(), 50))
  })

const environment = ['HF_ENDPOINT', 'HF_HOME', 'HF_HUB_CACHE', 'HF_TOKEN', 'HF_HUB_OFFLINE', 'HF_TOKEN_PATH'] as const

/** A cache of its own, and no token. */
const withCache = (name: string): string => {
  for (const variable of environment.slice(2)) delete process.env[variable]
  process.env.HF_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  process.env.HF_HOME = at(name)
  ;[asked, breaksAfter, damages, delay] = [[], Infinity, false, 0]
  return join(at(name), 'hub', `models--${repository.replace('/', '--')}`)
}

const training = { model: small, input: [2, 3, 32, 32], device: 'reference', threads: 1, steps: 1 } as const
const start = (weights: string) => train({ ...training, data: at('images'), weights, save: at('started.safetensors') })

let weights: Buffer
let etag: string

test.before(async () => {
  await writeImages(at('images'))
  await valueOf(train({ ...training, data: at('images'), save: at('w.safetensors') }))
  weights = readFileSync(at('w.safetensors'))
  etag = createHash('sha256').update(weights).digest('hex')
  server = respond(weights, etag)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
test.after(() => {
  for (const variable of environment) delete process.env[variable]
  server.close()
  server.closeAllConnections()
})

test('a repository is its model.safetensors, which lies in the cache where other programs look for it', async () => {
  const cache = withCache('first')
  const expected = await valueOf(start(at('w.safetensors')))
  const report = await valueOf(start(`hf:${repository}`))
  assert.equal(report.loss, expected.loss)
  const snapshot = join(cache, 'snapshots', commit, 'model.safetensors')
  assert.is(report.weights!.path, snapshot)
  assert.ok(lstatSync(snapshot).isSymbolicLink())
  assert.equal(readFileSync(snapshot), weights)
  assert.equal(readdirSync(join(cache, 'blobs')), [etag])
  assert.is(readFileSync(join(cache, 'refs', 'main'), 'utf8'), commit)
  assert.is(asked[0]!.url, `/${repository}/resolve/main/model.safetensors`)
  // Once it is there it is asked about, and not downloaded.
  const before = asked.length
  await valueOf(start(`hf:${repository}`))
  assert.equal(
    asked.slice(before).map(({ range }) => range),
    ['bytes=0-0']
  )
  const scores = await valueOf(
    predict({ ...{ model: small, device: 'reference', threads: 1 }, weights: `hf:${repository}`, image: at('images', 'dark', '0.png') })
  )
  assert.is(scores.scores!.length, 2)
})

test('a file, a revision, and a commit that is in the cache, which is not asked about', async () => {
  const cache = withCache('files')
  const { weights: found } = await valueOf(start(`hf:${repository}@${commit}/parts/other.safetensors`))
  assert.is(found!.path, join(cache, 'snapshots', commit, 'parts', 'other.safetensors'))
  assert.not(existsSync(join(cache, 'refs')))
  asked = []
  await valueOf(start(`hf:${repository}@${commit}/parts/other.safetensors`))
  assert.equal(asked, [])
})

test('a revision that holds a slash is written with %2F', async () => {
  const cache = withCache('slash')
  await valueOf(start(`hf:${repository}@refs%2Fpr%2F1/parts/other.safetensors`))
  assert.is(asked[0]!.url, `/${repository}/resolve/refs%2Fpr%2F1/parts/other.safetensors`)
  assert.is(readFileSync(join(cache, 'refs', 'refs', 'pr', '1'), 'utf8'), commit)
  for (const revision of ['%2Fetc', '..%2F..%2Fetc', 'a%2F%2Fb'])
    assert.match((await failureOf(start(`hf:${repository}@${revision}`))).message, /: give hf:OWNER\/NAME, /)
})

test('a branch whose name is as long as that of a commit is asked about', async () => {
  withCache('branch')
  await valueOf(start(`hf:${repository}@${branches[0]}`))
  asked = []
  await valueOf(start(`hf:${repository}@${branches[0]}`))
  assert.is(asked.length, 1)
})

test('a download that breaks off goes on where it ended; what is damaged is thrown away', async () => {
  const cache = withCache('broken')
  breaksAfter = 1000
  const { code, message } = await failureOf(start(`hf:${repository}`))
  assert.is(code, 'input')
  assert.match(message, /^--weights hf:tests\/small-net: /)
  const [incomplete] = readdirSync(join(cache, 'blobs'))
  assert.is(incomplete, `${etag}.incomplete`)
  const held = lstatSync(join(cache, 'blobs', incomplete!)).size
  assert.ok(held > 0 && held < weights.length, `${held}`)
  ;[asked, breaksAfter] = [[], Infinity]
  await valueOf(start(`hf:${repository}`))
  assert.match(asked.at(-1)!.range!, new RegExp(`^bytes=${held}-`))
  assert.equal(readFileSync(join(cache, 'snapshots', commit, 'model.safetensors')), weights)

  const other = withCache('damaged')
  damages = true
  assert.match((await failureOf(start(`hf:${repository}`))).message, /what came is not the file that the hub names [0-9a-f]{64}: run again/)
  assert.equal(readdirSync(join(other, 'blobs')), [])
})

test('two downloads of one file at once are one: who comes second waits, and says so', async () => {
  const cache = withCache('twice')
  delay = 300
  const notices: string[] = []
  const options = { model: small, device: 'reference', threads: 1, onNotice: (sentence: string) => void notices.push(sentence) } as const
  const both = [1, 2].map(() => valueOf(predict({ ...options, weights: `hf:${repository}`, image: at('images', 'dark', '0.png') })))
  const [first, second] = await Promise.all(both)
  assert.equal(first!.scores, second!.scores)
  assert.equal(readFileSync(join(cache, 'snapshots', commit, 'model.safetensors')), weights)
  assert.equal(readdirSync(join(cache, 'blobs')), [etag])
  assert.is(asked.filter(({ range }) => range !== 'bytes=0-0').length, 1)
  assert.equal(notices.filter((sentence) => /is being downloaded by process \d+ on /.test(sentence)).length, 1)
})

test('a download, and waiting for that of another, end when they are interrupted', async () => {
  withCache('interrupted')
  delay = 60_000
  const began = performance.now()
  const controllers = [new AbortController(), new AbortController()] as const
  const both = controllers.map(({ signal }) =>
    failureOf(train({ ...training, data: at('images'), weights: `hf:${repository}`, signal, onNotice: () => controllers[1].abort() }))
  )
  while (!asked.some(({ range }) => range !== 'bytes=0-0')) await new Promise((resolve) => setTimeout(resolve, 20))
  // Of both one downloads, and is interrupted when the one that waits was.
  await Promise.race(both)
  controllers.forEach((controller) => controller.abort())
  for (const { code, message } of await Promise.all(both))
    assert.equal([code, message], ['interrupted', 'interrupted while hf:tests/small-net was downloaded: run again to go on'])
  assert.ok(performance.now() - began < 30_000)
})

test('the token of HF_TOKEN, or of the file of the hub, is sent; without one a sentence says so', async () => {
  withCache('token')
  const refused = await failureOf(start('hf:tests/private'))
  assert.match(
    refused.message,
    /refuses access \(401\): see that tests\/private is the right name, and set HF_TOKEN if it is private or gated$/
  )
  process.env.HF_TOKEN = 'hf_wrong'
  assert.match((await failureOf(start('hf:tests/private'))).message, /\(401\): .* that the token of HF_TOKEN may read it$/)
  process.env.HF_TOKEN = 'hf_secret'
  await valueOf(start('hf:tests/private'))
  assert.is(asked.at(-1)!.authorization, 'Bearer hf_secret')
  withCache('stored')
  mkdirSync(at('stored'), { recursive: true })
  writeFileSync(at('stored', 'token'), 'hf_secret\n')
  await valueOf(start('hf:tests/private'))
})

test('what cannot be had is said in a sentence', async () => {
  withCache('refused')
  for (const [given, sentence] of [
    [
      `hf:${repository}/none.safetensors`,
      /^--weights hf:tests\/small-net\/none\.safetensors: tests\/small-net has no file none\.safetensors at main: name one behind it, hf:tests\/small-net\/FILE$/
    ],
    ['hf:tests/none', /has no tests\/none at main: see that name and revision are right$/],
    [`hf:${repository}@v9`, /has no tests\/small-net at v9: see that name and revision are right$/],
    ['hf:tests/broken', /answers 503 \(.*\): try again later, or give a file$/],
    ['hf:tests', /^--weights hf:tests: give hf:OWNER\/NAME, hf:OWNER\/NAME\/FILE or hf:OWNER\/NAME@REVISION\/FILE$/],
    [`hf:${repository}/../x`, /^--weights hf:tests\/small-net\/\.\.\/x: give hf:/]
  ] as const) {
    const { code, message } = await failureOf(start(given))
    assert.is(code, 'input')
    assert.match(message, sentence)
  }
})

/** An address at which nobody listens. */
const freeAddress = async (): Promise<string> => {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return `http://127.0.0.1:${port}`
}

test('without a network the cache serves, and an empty one is no help', async () => {
  withCache('unreached')
  await valueOf(start(`hf:${repository}`))
  const nowhere = await freeAddress()
  process.env.HF_ENDPOINT = nowhere
  const notices: string[] = []
  await valueOf(train({ ...training, data: at('images'), weights: `hf:${repository}`, onNotice: (sentence) => notices.push(sentence) }))
  assert.match(notices.join(), /hf:tests\/small-net: http:\/\/127\.0\.0\.1:\d+ cannot be reached, so what was downloaded before is taken: /)
  process.env.HF_HUB_OFFLINE = '1'
  notices.length = 0
  await valueOf(train({ ...training, data: at('images'), weights: `hf:${repository}`, onNotice: (sentence) => notices.push(sentence) }))
  assert.not.match(notices.join(), /cannot be reached/)
  withCache('empty')
  process.env.HF_ENDPOINT = nowhere
  assert.match(
    (await failureOf(start(`hf:${repository}`))).message,
    /^--weights hf:tests\/small-net: http:\/\/127\.0\.0\.1:\d+ cannot be reached \(.*\): give a file, or set HF_ENDPOINT to a server that can$/
  )
})

test('HF_HUB_OFFLINE asks nothing of a hub that answers, whatever the cache has', async () => {
  withCache('offline')
  Object.assign(process.env, { HF_HUB_OFFLINE: '1', HF_TOKEN: 'hf_secret' })
  const { code, message } = await failureOf(start(`hf:${repository}`))
  assert.is(code, 'input')
  assert.match(
    message,
    /small-net: it is not in .*offline\/hub, and HF_HUB_OFFLINE=1 forbids to ask http:.*: give a file, or leave HF_HUB_OFFLINE out$/
  )
  assert.equal(asked, [])
  delete process.env.HF_HUB_OFFLINE
  await valueOf(start(`hf:${repository}`))
  asked = []
  process.env.HF_HUB_OFFLINE = 'true'
  await valueOf(start(`hf:${repository}`))
  assert.equal(asked, [])
})

test('the command takes it, and says nothing else on standard output', async () => {
  withCache('command')
  const model = join(__dirname, '..', 'small-model.ts')
  const files = ['--data', at('images'), '--weights', `hf:${repository}`, '--input', '2x3x32x32', '--steps', '1', '--json']
  const { status, stdout, stderr } = await tilefold(['train', model, ...files, '--device', 'reference', '--threads', '1'])
  assert.is(status, 0, stderr)
  assert.match(JSON.parse(stdout).weights.path, /models--tests--small-net\/snapshots/)
})

test.run()
