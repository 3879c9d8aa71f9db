/** Traces of steps as they ran: every launch and copy, in order, and the bytes that were live. */
import { readFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TrainOptions, bench, train } from '../../../src'
import { makePlan } from '../../../src/commands/plan'
import type { Instruction } from '../../../staging'
import { embeddedReport } from '../embedded-report'
import { writeImages } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
test.before(() => writeImages(at('images'), 4))

const time = t.refinement(t.number, (value) => Number.isFinite(value) && value >= 0)
/** As the public description of the Trace Event Format has them, for the phases that we write. */
const span = t.type({
  ph: t.literal('X'),
  name: t.string,
  cat: t.string,
  pid: t.Int,
  tid: t.Int,
  ts: time,
  dur: time,
  args: t.UnknownRecord
})
const counter = t.type({ ph: t.literal('C'), name: t.string, pid: t.Int, ts: time, args: t.record(t.string, t.number) })
const named = t.type({
  ph: t.literal('M'),
  name: t.union([t.literal('process_name'), t.literal('thread_name')]),
  pid: t.Int,
  tid: t.Int,
  args: t.type({ name: t.string })
})
const traceFile = t.type({
  displayTimeUnit: t.union([t.literal('ms'), t.literal('ns')]),
  traceEvents: t.array(t.union([span, counter, named]))
})

type Span = t.TypeOf<typeof span>

const readTrace = (path: string) => {
  const decoded = traceFile.decode(JSON.parse(readFileSync(path, 'utf8')))
  if (E.isLeft(decoded)) throw new Error(JSON.stringify(decoded.left[0]!.context.at(-1)))
  const { traceEvents } = decoded.right
  const threads = new Map(traceEvents.flatMap((one) => (one.ph === 'M' && one.name === 'thread_name' ? [[one.args.name, one.tid]] : [])))
  const spans = traceEvents.filter((one): one is Span => one.ph === 'X')
  return {
    on: (thread: string): readonly Span[] => spans.filter(({ tid }) => tid === threads.get(thread)),
    counts: (name: string): readonly number[] =>
      traceEvents.flatMap((one) => (one.ph === 'C' && one.name === name ? [one.args['bytes']!] : []))
  }
}

/** Instructions that an engine carries out, with loops written out. */
const count = (code: readonly Instruction[], engine: string): number =>
  code.reduce((sum, one) => {
    if (one.kind === 'loop') return sum + one.count * count(one.body, engine)
    if (one.kind === 'record' || one.kind === 'wait') return sum
    return sum + (('engine' in one ? (one.engine ?? 'compute') : 'compute') === engine ? 1 : 0)
  }, 0)

const assertInTurn = (spans: readonly Span[]): void => {
  for (const [index, { ts }] of spans.slice(1).entries())
    assert.ok(spans[index]!.ts + spans[index]!.dur <= ts + 1e-3, `${spans[index]!.ts} + ${spans[index]!.dur} > ${ts}`)
}

test('bench notes every launch and copy of its steps, one engine at a time, and what was live', async () => {
  const asked = { model: 'vgg11', classes: 2, input: [1, 3, 128, 128], threads: 2, strategy: 'greedy', budget: '92%' } as const
  const { staged } = await valueOf(makePlan(asked))
  const { program } = staged
  const { stepMs } = await valueOf(bench({ ...asked, steps: 3, trace: at('bench.json') }))
  const { on, counts } = readTrace(at('bench.json'))
  assert.equal(
    on('sections').map(({ name }) => name),
    ['step 1', 'step 2', 'step 3']
  )
  for (const engine of ['compute', 'to-device', 'to-host']) {
    assert.is(on(engine).length, 3 * count(program.step.code, engine), engine)
    assertInTurn(on(engine))
  }
  assert.ok(on('to-host').length > 0 && on('to-device').some(({ name, args }) => name === 'copy' && args['layer'] !== undefined))
  const parts = on('sections').map(({ dur }, index) => dur / 1e3 / stepMs[index]!)
  // Other work may come between a section and what times the step, but hardly in each.
  assert.ok(Math.max(...parts) > 0.5 && Math.max(...parts) <= 1, `${parts.join(', ')} of the steps`)
  for (const { ts, dur } of on('sections')) {
    const inside = on('compute').filter((one) => one.ts >= ts && one.ts + one.dur <= ts + dur + 1e-3)
    assert.is(inside.length, count(program.step.code, 'compute'))
  }
  const [device, host] = [counts('device memory'), counts('host memory')]
  assert.ok(Math.max(...device) <= program.peakBytes && Math.max(...device) > program.peakBytes / 2)
  assert.ok(Math.max(...host) <= program.hostBytes && Math.max(...host) > 0)
})

const training = (): TrainOptions => ({
  ...({ model: smallNetwork, input: [2, 3, 24, 40], device: 'reference', threads: 1, strategy: 'plain' } as const),
  ...{ data: at('images'), accumulate: 2, lr: 0.1 }
})

test('train has the latest micro-batches and updates in its trace', async () => {
  await valueOf(train({ ...training(), steps: 6, trace: at('train.json') }))
  const { on } = readTrace(at('train.json'))
  assert.equal(
    on('sections').map(({ name }) => name),
    ['step 8', 'update 4', 'step 9', 'step 10', 'update 5', 'step 11', 'step 12', 'update 6']
  )
  assertInTurn(on('sections'))
  assertInTurn(on('compute'))
})

test('a training that is interrupted leaves its trace and its page', async () => {
  const controller = new AbortController()
  const files = { trace: at('stopped.json'), report: at('stopped.html') }
  const onStep = ({ step }: { readonly step: number }): void => (step === 3 ? controller.abort() : undefined)
  const failure = await failureOf(train({ ...training(), ...files, steps: 1000, signal: controller.signal, onStep }))
  assert.is(failure.code, 'interrupted')
  const { title, facts } = embeddedReport(files.report)
  assert.match(title, /: 4 steps of training$/)
  assert.equal(facts[0], { name: 'ended', text: failure.message })
  assert.is(readTrace(files.trace).on('sections').at(-1)!.name, 'update 4')
})

test('a trace is written over nothing that is read, and a training without steps leaves none', async () => {
  const options = { ...training(), steps: 2 }
  const over = await failureOf(train({ ...options, trace: at('images/dark/0.png') }))
  assert.match(over.message, /--trace .*0\.png would be written over an image of --data/)
  const controller = new AbortController()
  controller.abort()
  await failureOf(train({ ...options, trace: at('none.json'), signal: controller.signal }))
  assert.not.ok(existsSync(at('none.json')))
})

test.run()
