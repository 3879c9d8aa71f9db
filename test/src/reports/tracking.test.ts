/** Where people already look: TensorBoard's event files, MLflow's server, a page while it runs. */
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TrainOptions, train } from '../../../src'
import { writeImages, writeMasks } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'
import { decodeMessage, eventsIn, summaries } from './tensorboard/event-files'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
test.before(() => writeImages(at('images'), 4))

const training = (): TrainOptions => ({
  ...({ model: smallNetwork, input: [2, 3, 24, 40], device: 'reference', threads: 1, strategy: 'plain' } as const),
  ...{ data: at('images'), lr: 0.1, steps: 4, validation: at('images'), validateEvery: 2, clipNorm: 5 }
})

test("TensorBoard's event files have the scalars of every step and validation", async () => {
  const { loss, validations } = await valueOf(train({ ...training(), tensorboard: at('board') }))
  const [file] = readdirSync(at('board'))
  assert.match(file!, /^events\.out\.tfevents\.\d{10}\./)
  const events = eventsIn(at('board'))
  assert.is(events[0]!.fileVersion, 'brain.Event:2')
  const values = summaries(events)
  const scalar = (tag: string) => values.flatMap((value) => (value.tag === tag ? [[value.step, value.simpleValue]] : []))
  assert.equal(
    scalar('loss/training'),
    loss.map((one, step) => [step + 1, Math.fround(one)])
  )
  assert.equal(
    scalar('accuracy/validation'),
    validations!.map(({ step, accuracy }) => [step, Math.fround(accuracy!)])
  )
  for (const tag of ['rate/gradient_norm', 'step/images_per_second', 'step/peak_device_bytes'])
    assert.ok(scalar(tag).length === 4 && scalar(tag).every(([, value]) => value! > 0), tag)
})

test('an accuracy of 0 is in them', async () => {
  // All are taken for the other class, once the network knows the classes.
  await writeImages(at('exchanged'), 4)
  renameSync(at('exchanged/dark'), at('exchanged/kept'))
  renameSync(at('exchanged/light'), at('exchanged/dark'))
  renameSync(at('exchanged/kept'), at('exchanged/light'))
  const { validations } = await valueOf(
    train({ ...training(), steps: 40, validation: at('exchanged'), validateEvery: 40, tensorboard: at('zeros') })
  )
  assert.is(validations!.at(-1)!.accuracy, 0)
  const found = summaries(eventsIn(at('zeros'))).filter(({ tag }) => tag === 'accuracy/validation')
  assert.equal(
    found.map(({ step, simpleValue }) => [step, simpleValue]),
    [[40, 0]]
  )
})

interface GraphDef {
  readonly node: readonly {
    readonly name: string
    readonly op: string
    readonly input?: readonly string[]
    readonly attr: {
      readonly _output_shapes: { readonly list: { readonly shape: readonly [{ readonly dim: readonly { readonly size: string }[] }] } }
    }
  }[]
}

test('they have the graph, with the shapes of what its nodes give', () => {
  const [graph] = eventsIn(at('board')).flatMap(({ graphDef }) => graphDef ?? [])
  const nodes = decodeMessage<GraphDef>('tensorboard.GraphDef', Buffer.from(graph!, 'base64')).node.map(
    ({ name, op, input = [], attr }) => ({
      ...{ name, op, inputs: input },
      shape: attr._output_shapes.list.shape[0].dim.map(({ size }) => Number(size))
    })
  )
  assert.equal(nodes[0], { name: 'input', op: 'Placeholder', inputs: [], shape: [2, 3, 24, 40] })
  assert.equal(nodes[1], { name: '0', op: 'conv2d', inputs: ['input'], shape: [2, 4, 24, 40] })
  assert.ok(nodes.every(({ inputs }) => inputs.every((input) => nodes.some(({ name }) => name === input))))
})

interface Hparams {
  readonly sessionStartInfo?: { readonly hparams: Readonly<Record<string, number | string>> }
  readonly sessionEndInfo?: { readonly status: string }
}

test('they have the hyper-parameters, and how it ended', () => {
  const content = (tag: string): Hparams => {
    const { pluginName, content } = summaries(eventsIn(at('board'))).find((value) => value.tag === tag)!.metadata!.pluginData
    assert.is(pluginName, 'hparams')
    return decodeMessage<Hparams>('tensorboard.hparams.HParamsPluginData', Buffer.from(content!, 'base64'))
  }
  const { lr, batch, seed, strategy } = content('_hparams_/session_start_info').sessionStartInfo!.hparams
  assert.equal({ lr, batch, seed, strategy }, { lr: 0.1, batch: 2, seed: 0, strategy: 'plain' })
  assert.is(content('_hparams_/session_end_info').sessionEndInfo!.status, 'STATUS_SUCCESS')
})

test('they have the validated crops, and of labelled ones the class in words', async () => {
  const ofStep2 = summaries(eventsIn(at('board'))).filter(({ step, tag }) => step === 2 && tag.startsWith('crops/'))
  const pictures = ofStep2.filter(({ image }) => image !== undefined)
  assert.equal(
    pictures.map(({ tag }) => tag),
    [0, 1, 2, 3].map((place) => `crops/${place} ${2 * (place % 2)}.png/image`)
  )
  for (const { image } of pictures) {
    const { height, width, encodedImageString } = image!
    const { info } = await sharp(Buffer.from(encodedImageString, 'base64')).raw().toBuffer({ resolveWithObject: true })
    assert.equal([height, width, info.height, info.width, info.channels], [24, 40, 24, 40, 3])
  }
  const words = ofStep2.filter(({ tensor }) => tensor !== undefined)
  assert.is(words.length, 4)
  for (const { metadata, tensor } of words) {
    assert.equal([metadata!.pluginData.pluginName, tensor!.dtype], ['text', 'DT_STRING'])
    assert.match(`${Buffer.from(tensor!.stringVal[0]!, 'base64')}`, /^class (dark|light); predicted (dark|light), probability [01]\.\d\d$/)
  }
})

test('a segmentation shows the truth and what the network says laid over the image', async () => {
  await writeMasks(folder)
  const data = at('masks.csv')
  const run = { ...training(), model: segmenting, input: [2, 3, 96, 128], data, validation: data } as const
  await valueOf(train({ ...run, tensorboard: at('masked') }))
  const pictures = new Map(
    summaries(eventsIn(at('masked'))).flatMap(({ tag, image }) => (image ? [[tag, Buffer.from(image.encodedImageString, 'base64')]] : []))
  )
  assert.equal([...pictures.keys()], ['crops/0 tissue.png/image', 'crops/0 tissue.png/truth', 'crops/0 tissue.png/predicted'])
  const raw = (what: string) =>
    sharp(pictures.get(`crops/0 tissue.png/${what}`)!)
      .raw()
      .toBuffer()
  const [image, truth] = [await raw('image'), await raw('truth')]
  assert.equal(image, await sharp(at('tissue.png')).removeAlpha().raw().toBuffer())
  const classes = await sharp(at('mask.png')).extractChannel(0).raw().toBuffer()
  // Class 0 is black, so that 0.45 of the image is left; class 1 adds 0.55 of its orange.
  for (const [place, label] of classes.entries()) {
    const added = label === 0 ? [0, 0, 0] : [230, 159, 0]
    for (const channel of [0, 1, 2])
      assert.is(truth[3 * place + channel], Math.floor(0.45 * image[3 * place + channel]! + 0.55 * added[channel]!))
  }
})

test('a training that goes on says from which step, and writes a file of its own', async () => {
  const state = { state: at('state'), tensorboard: at('resumed') }
  await valueOf(train({ ...training(), ...state, steps: 2 }))
  const before = readdirSync(at('resumed'))
  await valueOf(train({ ...training(), ...state, steps: 4, resume: true }))
  assert.is(readdirSync(at('resumed')).length, before.length + 1)
  const starts = eventsIn(at('resumed')).flatMap(({ step, sessionLog }) => (sessionLog ? [[step, sessionLog.status]] : []))
  assert.equal(starts, [
    ['1', 'START'],
    ['3', 'START']
  ])
})

test('the file of a training that goes on is read last, though the clock was set back', async () => {
  const state = { state: at('set-back-state'), tensorboard: at('set-back') }
  await valueOf(train({ ...training(), ...state, steps: 2 }))
  const [name] = readdirSync(at('set-back'))
  renameSync(at(`set-back/${name}`), at(`set-back/${name!.replace(/\d{10}/, (seconds) => `${Number(seconds) + 3600}`)}`))
  await valueOf(train({ ...training(), ...state, steps: 4, resume: true }))
  const starts = eventsIn(at('set-back')).flatMap(({ step, sessionLog }) => (sessionLog ? [step] : []))
  assert.equal(starts, ['1', '3'])
})

test('two trainings at once write two files', async () => {
  const both = { ...training(), steps: 1, tensorboard: at('both') }
  await Promise.all([valueOf(train(both)), valueOf(train(both))])
  assert.is(readdirSync(at('both')).length, 2)
})

test('a folder that cannot be written is refused before the first step', async () => {
  mkdirSync(at('files'))
  writeFileSync(at('files/board'), '')
  const steps: number[] = []
  const failure = await failureOf(train({ ...training(), tensorboard: at('files/board'), onStep: ({ step }) => steps.push(step) }))
  assert.match(failure.message, /files\/board.*: cannot be written \(it is no folder\)/)
  assert.equal(steps, [])
})

interface Called {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: Record<string, unknown>
}

const experimentPath = 'experiments/get-by-name?experiment_name=tilefold'

/** What of MLflow's interface a training calls, with answers as its documents have them. */
const mlflowServer = async (fails: (path: string) => boolean = () => false) => {
  const called: Called[] = []
  const bodyOf = async (incoming: IncomingMessage): Promise<Record<string, unknown>> => {
    let body = ''
    for await (const part of incoming) body += String(part)
    return body === '' ? {} : (JSON.parse(body) as Record<string, unknown>)
  }
  const server = createServer((incoming, answer) => {
    void bodyOf(incoming).then((body) => {
      const path = incoming.url!.replace('/api/2.0/mlflow/', '')
      called.push({ path, authorization: incoming.headers.authorization, body })
      const answers: Readonly<Record<string, object>> = {
        'experiments/create': { experiment_id: '7' },
        ...(called.some(({ path }) => path === 'experiments/create') && { [experimentPath]: { experiment: { experiment_id: '7' } } }),
        'runs/create': { run: { info: { run_id: 'abc' } } },
        'runs/log-batch': {},
        'runs/update': {}
      }
      const known = fails(path) ? undefined : answers[path]
      answer.writeHead(known === undefined ? 404 : 200, { 'content-type': 'application/json' })
      answer.end(JSON.stringify(known ?? { error_code: 'RESOURCE_DOES_NOT_EXIST', message: 'no' }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, called, close: () => server.close() }
}

test('an MLflow server is told of parameters, metrics by step, and the end', async () => {
  const { url, called, close } = await mlflowServer()
  const { loss } = await valueOf(train({ ...training(), mlflow: url }))
  close()
  assert.equal(
    called.slice(0, 4).map(({ path }) => path),
    [experimentPath, 'experiments/create', experimentPath, 'runs/create'],
    'once before planning, to see that it answers, and once for the run'
  )
  assert.is(called[3]!.body['experiment_id'], '7')
  const logged = called.filter(({ path }) => path === 'runs/log-batch')
  assert.ok(logged.every(({ body }) => body['run_id'] === 'abc'))
  const listed = <A>(name: string): readonly A[] => logged.flatMap(({ body }) => (body[name] as readonly A[] | undefined) ?? [])
  const params = new Map(listed<{ key: string; value: string }>('params').map(({ key, value }) => [key, value]))
  assert.equal([params.get('lr'), params.get('device')], ['0.1', 'reference'])
  const metrics = listed<{ key: string; value: number; step: number; timestamp: number }>('metrics')
  assert.equal(
    metrics.filter(({ key }) => key === 'loss/training').map(({ step, value }) => [step, value]),
    loss.map((one, step) => [step + 1, one])
  )
  assert.is(metrics.filter(({ key }) => key === 'loss/validation').length, 2)
  assert.ok(metrics.every(({ timestamp }) => Math.abs(timestamp - Date.now()) < 60e3))
  const { path, body } = called.at(-1)!
  assert.equal([path, body['run_id'], body['status']], ['runs/update', 'abc', 'FINISHED'])
})

test('a server that asks who is there is told what its own clients would tell', async () => {
  const { url, called, close } = await mlflowServer()
  const told = async (mlflow: string, variables: Readonly<Record<string, string>> = {}): Promise<string | undefined> => {
    called.length = 0
    Object.assign(process.env, variables)
    await valueOf(train({ ...training(), steps: 1, mlflow }))
    for (const name of Object.keys(variables)) delete process.env[name]
    assert.is(new Set(called.map(({ authorization }) => authorization)).size, 1)
    return called[0]!.authorization
  }
  const basic = `Basic ${Buffer.from('ann:s/cret').toString('base64')}`
  assert.is(await told(url), undefined)
  assert.is(await told(url.replace('//', '//ann:s%2Fcret@')), basic)
  assert.is(await told(url.replace('//', '//ann:50%@')), `Basic ${Buffer.from('ann:50%').toString('base64')}`)
  assert.is(await told(url, { MLFLOW_TRACKING_USERNAME: 'ann', MLFLOW_TRACKING_PASSWORD: 's/cret' }), basic)
  assert.is(await told(url, { MLFLOW_TRACKING_TOKEN: 'abc' }), 'Bearer abc')
  close()
  const failure = await failureOf(train({ ...training(), mlflow: 'http://ann:s%2Fcret@127.0.0.1:9' }))
  assert.match(failure.message, /^--mlflow http:\/\/127\.0\.0\.1:9: /, 'a password is not printed')
})

test('a server that is not there is refused at once; one that fails later is told of, and the training goes on', async () => {
  let isPlanned = false
  const failure = await failureOf(train({ ...training(), mlflow: 'http://127.0.0.1:9', onPlan: () => (isPlanned = true) }))
  assert.match(failure.message, /^--mlflow http:\/\/127\.0\.0\.1:9: /)
  assert.not(isPlanned)
  let batches = 0
  const isLate = (path: string): boolean => path === 'runs/update' || (path === 'runs/log-batch' && (batches += 1) > 1)
  const { url, close } = await mlflowServer(isLate)
  const notices: string[] = []
  const { steps } = await valueOf(train({ ...training(), mlflow: url, onNotice: (sentence) => notices.push(sentence) }))
  close()
  assert.is(steps, 4)
  const told = notices.filter((sentence) => sentence.includes('--mlflow'))
  assert.equal([told.length, told[0]!.includes('MLflow is told no more')], [1, true])
})

test('a server that takes too long is named with what it was asked, and for how long', async () => {
  const { fetch } = globalThis
  let asked = 0
  globalThis.fetch = () => {
    asked += 1
    return Promise.reject(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
  }
  try {
    assert.is(
      (await failureOf(train({ ...training(), mlflow: 'http://127.0.0.1:9' }))).message,
      '--mlflow http://127.0.0.1:9: experiments/get-by-name was not answered within 10 seconds; give the address of a server that answers'
    )
    assert.is(asked, 1)
    globalThis.fetch = () => Promise.resolve(new Response('<!DOCTYPE html>'))
    assert.match(
      (await failureOf(train({ ...training(), mlflow: 'http://127.0.0.1:9' }))).message,
      /was answered with something else than MLflow answers; give the address of a server that answers$/
    )
  } finally {
    globalThis.fetch = fetch
  }
})

/** The status and the text of an answer to a request that a browser would send. */
const ask = (url: string, method = 'GET', headers: Readonly<Record<string, string>> = {}): Promise<readonly [number, string]> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { method, headers }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (part: string) => (body += part))
      answer.on('end', () => resolve([answer.statusCode!, body]))
    })
    asked.on('error', reject).end()
  })

test('a port that is taken is told before anything is planned', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const onPlan = (): void => assert.unreachable('it was planned')
  const { code, message } = await failureOf(train({ ...training(), live: port, onPlan }))
  other.close()
  assert.is(code, 'input')
  assert.match(message, /^--live \d+: cannot be served \(.*EADDRINUSE.*\); give another port, or 0 for any that is free$/)
})

test('the report is served while a training runs, to this machine alone, and no longer', async () => {
  let url = ''
  const seen: (readonly [number, string])[] = []
  const controller = new AbortController()
  const onNotice = (sentence: string): void => void (url = /shown at (\S+)$/.exec(sentence)?.[1] ?? url)
  const onStep = ({ step }: { readonly step: number }): void => {
    if (step !== 3) return
    const asked = [ask(url), ask(url, 'POST'), ask(`${url}etc`), ask(url, 'GET', { host: 'elsewhere.example' })]
    void Promise.all(asked).then((answers) => {
      seen.push(...answers)
      controller.abort()
    })
  }
  await failureOf(train({ ...training(), live: 0, steps: 100_000, signal: controller.signal, onStep, onNotice }))
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/$/)
  assert.equal(
    seen.map(([status]) => status),
    [200, 405, 404, 403]
  )
  assert.match(seen[0]![1], /\d+ steps of training/)
  await ask(url).then(
    () => assert.unreachable('it is still served'),
    () => undefined
  )
})

test.run()
