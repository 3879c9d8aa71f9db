/** Pages of reports as data: what is embedded, and what it must agree with. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu, residual, seq } from '../../../dsl'
import { compare, explain, plan } from '../../../src'
import { makePlan } from '../../../src/commands/plan'
import type { Report } from '../../../src/reports/report'
import { root } from '../command-line'
import { embeddedReport } from '../embedded-report'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

const hostile = '</script><script>alert(1)</script>'
const net = model({
  name: 'net',
  layers: [
    seq(hostile, [conv2d({ out: 8, k: 3, p: 1 }), relu, maxPool2d({ k: 2 })]),
    residual([conv2d({ out: 8, k: 3, p: 1 }), relu]),
    globalAvgPool,
    linear({ out: 2 })
  ]
})
const asked = {
  model: net,
  input: [1, 3, 256, 256],
  device: join(root, 'devices', 'v100-16gb.json') as `${string}.json`,
  budget: '60%'
} as const

const { budget: _, ...unlimited } = asked

test("a plan's page holds its step, buffers and tiles", async () => {
  const { staged } = await valueOf(makePlan({ ...asked, report: at('plan.html') }))
  const { step, network, binding } = embeddedReport(at('plan.html'))
  const { program, plan: planned, predicted, budget } = staged
  assert.is(step!.nanoseconds / 1e6, predicted.stepMilliseconds)
  assert.equal([step!.budgetBytes, step!.peakBytes], [budget, predicted.peakDeviceBytes])
  assert.equal(
    step!.buffers.name.map((name, index) => [step!.texts[name], step!.buffers.offset[index], step!.buffers.bytes[index]]),
    program.buffers.map(({ name, offset, bytes }) => [name, offset, bytes])
  )
  assert.ok(Math.max(...step!.live.bytes) <= budget! && Math.max(...step!.plainLive!.bytes) > budget!)
  assert.is(
    binding!.peak.reduce((sum, { bytes }) => sum + bytes, 0),
    Math.max(...step!.live.bytes)
  )
  assert.equal(
    network!.segments.map(({ from, to }) => [from, to]),
    planned.segments.map(({ from, to }) => [from, to])
  )
  const tiled = network!.segments.filter(({ height, width }) => height.held.length * width.held.length > 1)
  assert.ok(tiled.length > 0)
  for (const { height, width } of tiled)
    for (const { inputExtent, outputExtent, owned, held } of [height, width]) {
      assert.is(owned.length, held.length)
      assert.equal([owned[0]![0], owned[owned.length - 1]![1]], [0, outputExtent])
      assert.ok(held.every(([from, to]) => 0 <= from && from < to && to <= inputExtent))
      // A halo: neighbours hold rows of each other.
      for (const [index, [from]] of held.slice(1).entries()) assert.ok(from < held[index]![1])
    }
})

test('names are texts, whatever is in them', async () => {
  await valueOf(plan({ ...asked, report: at('names.html') }))
  const page = readFileSync(at('names.html'), 'utf8')
  assert.not.ok(page.includes('<script>alert'))
  assert.is(page.split('</script>').length, page.split('<script').length)
  assert.ok(embeddedReport(at('names.html')).network!.layers.some(({ name }) => name === `${hostile}.0`))
})

test('the licence of what draws is in the page, which may ask for nothing', async () => {
  await valueOf(plan({ ...asked, report: at('licence.html') }))
  const page = readFileSync(at('licence.html'), 'utf8')
  assert.match(page, /The MIT License \(MIT\)\s+Copyright \(c\) \d+ Leon Sorokin/)
  assert.match(page, /Content-Security-Policy" content="default-src 'none'/)
  assert.ok(page.length < 3e6)
})

/** Explains with a page; more memory is known to help. */
const recommending = async (report: string) => {
  const { larger, recommended } = await valueOf(explain({ ...asked, report }))
  if (recommended === null) throw new Error('nothing is recommended')
  return { larger, recommended }
}

test('an explanation has its words and other budgets in the page, and what it recommends beside what is', async () => {
  const {
    larger,
    recommended: { budgetBytes, predictedStepMs }
  } = await recommending(at('explain.html'))
  const { budgets, binding, step, recommended } = embeddedReport(at('explain.html'))
  assert.is(budgets.filter(({ isPresent }) => isPresent).length, 1)
  assert.equal(
    budgets.slice(1 + budgets.findIndex(({ isPresent }) => isPresent)).map(({ budgetBytes }) => budgetBytes),
    larger.map(({ budgetBytes }) => budgetBytes)
  )
  assert.ok(binding!.sentences.at(-1)!.startsWith(`Recommended: --budget ${budgetBytes} `))
  // Before and after: what the two plans are, made by themselves.
  const drawn = (part: NonNullable<Report['step']>) => ({ milliseconds: part.nanoseconds / 1e6, offsets: part.buffers.offset })
  const planned = async (budget: number | typeof asked.budget) => {
    const { staged } = await valueOf(makePlan({ ...asked, budget }))
    return { milliseconds: staged.predicted.stepMilliseconds, offsets: staged.program.buffers.map(({ offset }) => offset) }
  }
  assert.equal(drawn(step!), await planned(asked.budget))
  assert.equal(drawn(recommended!.step), await planned(budgetBytes))
  assert.ok(predictedStepMs < step!.nanoseconds / 1e6)
})

const units = readFileSync(join(root, 'src', 'reports', 'page', 'units.js'), 'utf8')
const marksOf =
  (name: 'timeMarks' | 'byteMarks' | 'numberMarks') =>
  (...values: readonly number[]): unknown =>
    runInNewContext(`${units}\n${name}(${JSON.stringify(values)}).join()`)

test('marks of time have the places that tell them apart', () => {
  const marks = marksOf('timeMarks')
  assert.is(marks(0, 2.5, 5, 7.5), '0.0 ms,2.5 ms,5.0 ms,7.5 ms')
  assert.is(marks(0, 0.025, 0.05), '0.000 ms,0.025 ms,0.050 ms')
  assert.is(marks(0, 20, 40), '0 ms,20 ms,40 ms')
  assert.is(marks(0, 2500, 5000), '0.0 s,2.5 s,5.0 s')
})

test('marks of bytes are in a unit of which they are quarters at least', () => {
  const marks = marksOf('byteMarks')
  const [mebi, gibi] = [2 ** 20, 2 ** 30]
  assert.is(marks(gibi / 2, (3 * gibi) / 4, gibi), '0.50 GiB,0.75 GiB,1.00 GiB')
  assert.is(marks((7 * gibi) / 8, gibi, (9 * gibi) / 8), '896 MiB,1024 MiB,1152 MiB')
  assert.is(marks(0, 64 * mebi, 128 * mebi), '0 MiB,64 MiB,128 MiB')
  assert.is(marks(10 * gibi, 10 * gibi + 512 * 1024), '10240.0 MiB,10240.5 MiB')
  assert.is(marks(0, 512, 1024), '0.0 KiB,0.5 KiB,1.0 KiB')
  assert.is(marks(gibi), '1 GiB')
})

test('marks of numbers are told apart, and very large and small ones have exponents', () => {
  const marks = marksOf('numberMarks')
  assert.is(marks(0.693139, 0.69314, 0.693141), '0.693139,0.693140,0.693141')
  assert.is(marks(0, 0.2, 0.4, 0.6000000000000001), '0,0.2,0.4,0.6')
  assert.is(marks(-2000, 0, 2000), '-2000,0,2000')
  assert.is(marks(0, 5e5, 1e6, 1.5e6), '0,5e+5,1.0e+6,1.5e+6')
  assert.is(marks(0, 2e33, 4e33, 6e33), '0,2e+33,4e+33,6e+33')
  assert.is(marks(0, 5e-8, 1e-7, 1.5e-7), '0,5e-8,1.0e-7,1.5e-7')
})

test('a logarithmic axis has its marks at powers of ten, and between them where these are few', () => {
  const splits = (min: number, max: number): unknown => runInNewContext(`${units}\nlogarithmicSplits(${min}, ${max}).join()`)
  assert.is(splits(0.1, 1000), '0.1,1,10,100,1000')
  assert.is(splits(0.6, 1e34), '1000000,10000000000000,100000000000000000000,1e+27,1e+34')
  assert.is(splits(0.1, 10), '0.1,0.2,0.5,1,2,5,10')
  assert.is(splits(0.6, 1), '0.7,1')
})

test('a comparison has a point for each strategy and budget', async () => {
  const { rows } = await valueOf(
    compare({ ...unlimited, budgets: ['60%', '100%'], strategies: ['plain', 'sft'], report: at('compare.html') })
  )
  const { comparison } = embeddedReport(at('compare.html'))
  assert.equal(comparison!.strategies, ['plain', 'sft'])
  assert.equal(
    comparison!.plans.map(({ milliseconds, peakBytes }) => [milliseconds, peakBytes]),
    rows.map(({ predictedStepMs, peakDeviceBytes }) => [predictedStepMs, peakDeviceBytes])
  )
})

test('a trace has a span for each thing that an engine does, one at a time, and counts live bytes', async () => {
  const { staged } = await valueOf(makePlan({ ...asked, trace: at('trace.json') }))
  const { traceEvents } = JSON.parse(readFileSync(at('trace.json'), 'utf8')) as { readonly traceEvents: readonly Event[] }
  type Event = {
    readonly ph: string
    readonly tid: number
    readonly ts: number
    readonly dur: number
    readonly args: Readonly<Record<string, unknown>>
  }
  const spans = traceEvents.filter(({ ph }) => ph === 'X')
  const names = traceEvents.filter(({ ph, tid }) => ph === 'M' && tid > 0).map(({ tid, args }) => [tid, args['name']])
  assert.equal(names, [
    [1, 'compute'],
    [2, 'to-device'],
    [3, 'to-host']
  ])
  assert.ok(spans.length > 20 && spans.every(({ tid, dur }) => tid >= 1 && tid <= 3 && dur >= 0))
  for (const [index, span] of spans.entries()) {
    const before = spans[index - 1]
    // As viewers add: the least overlap nests the second into the first.
    if (before?.tid === span.tid) assert.ok(before.ts + before.dur <= span.ts)
  }
  const ends = Math.max(...spans.map(({ ts, dur }) => ts + dur)) / 1e3
  assert.ok(Math.abs(ends / staged.predicted.stepMilliseconds - 1) < 0.01, `${ends}`)
  const counted = traceEvents.filter(({ ph }) => ph === 'C').map(({ args }) => Number(args['bytes']))
  assert.ok(Math.max(...counted) <= staged.program.peakBytes && Math.max(...counted) > staged.program.peakBytes / 2)
})

test('a page that cannot be written, or would be written over the plan, is refused before anything is planned', async () => {
  assert.match((await failureOf(plan({ ...asked, report: at('missing/page.html') }))).message, /missing\/page\.html: cannot be written/)
  assert.not.ok(existsSync(at('missing')))
  const same = await failureOf(plan({ ...asked, out: at('plan.json'), report: at('plan.json') }))
  assert.match(same.message, /--report .*plan\.json would be written over --out/)
  writeFileSync(at('given.json'), '{}')
  const given = await failureOf(explain({ ...unlimited, plan: at('given.json'), report: at('given.json') }))
  assert.match(given.message, /--report .*given\.json would be written over --plan/)
})

test.run()
