/** Pages of reports in a real browser. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'puppeteer-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { makeExplanation } from '../../src/commands/explain'
import { makePlan } from '../../src/commands/plan'
import { compare } from '../../src'
import { reportPage } from '../../src/reports/page'
import { type Report, emptyReport } from '../../src/reports/report'
import { twoConvolutions } from '../staging/convolutions'
import { findChromium, openBrowser } from './chromium'
import { root } from './command-line'
import { valueOf } from './outcome'
import { temporaryFolder } from './temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const chromium = findChromium()

const asked = {
  model: twoConvolutions,
  input: [1, 3, 256, 256],
  device: join(root, 'devices', 'v100-16gb.json') as `${string}.json`
} as const

const pages = suite('pages in Chromium')
const check = chromium === undefined ? pages.skip : pages
let browser: Browser

pages.before(async () => {
  if (chromium !== undefined) browser = await openBrowser(chromium)
})
pages.after(async () => {
  if (chromium !== undefined) await browser.close()
})

/** Opens a page, and closes it; it must say nothing and ask for nothing but itself. */
const withPage = async (path: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const page = await browser.newPage()
  const said: string[] = []
  const requests: string[] = []
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(String(error)))
  page.on('request', (request) => requests.push(request.url()))
  await page.setViewport({ width: 1240, height: 900 })
  const url = pathToFileURL(path).href
  await page.goto(url)
  await use(page)
  await page.close()
  assert.equal([said, requests], [[], [url]])
}

/** Where a chart of a page draws, in pixels of the page; the first, or another by its number. */
const mapOf = (page: Page, number = 0) =>
  page.evaluate(`(() => {
    const chart = document.querySelectorAll('.u-over')[${number}]
    chart.scrollIntoView({ block: 'center' })
    const { left, top, width, height } = chart.getBoundingClientRect()
    return { left, top, width, height }
  })()`) as Promise<{ readonly left: number; readonly top: number; readonly width: number; readonly height: number }>

const tipOf = (page: Page): Promise<string> =>
  page.evaluate(
    `(() => { const tip = document.getElementById('tip'); return tip.style.display === 'none' ? '' : tip.innerText })()`
  ) as Promise<string>

check('pointing at an address and a time tells the buffer that the plan has there', async () => {
  const { staged } = await valueOf(makePlan({ ...asked, budget: '60%', report: at('plan.html') }))
  const { program, predicted } = staged
  const duration = predicted.stepMilliseconds
  await withPage(at('plan.html'), async (page) => {
    const map = await mapOf(page)
    const pointAt = (time: number, address: number) =>
      page.mouse.move(map.left + (time / duration) * map.width, map.top + (1 - address / program.peakBytes) * map.height)
    // What is there all the time, by the Program itself.
    const largest = program.buffers.filter(({ role }) => role === 'persistent').reduce((most, one) => (one.bytes > most.bytes ? one : most))
    const rowBytes = program.peakBytes / map.height
    const expected: { readonly time: number; readonly buffer: (typeof program.buffers)[number] }[] = []
    if (largest.bytes > 2 * rowBytes) expected.push({ time: duration / 2, buffer: largest })
    // And the widest of what comes and goes, by the embedded lifetimes.
    const { lifetimes } = (await page.evaluate(`JSON.parse(document.getElementById('report').textContent).step`)) as NonNullable<
      Report['step']
    >
    const wide = lifetimes.buffer
      .map((buffer, index) => ({ buffer: program.buffers[buffer]!, from: lifetimes.from[index]! / 1e6, to: lifetimes.to[index]! / 1e6 }))
      .filter(({ buffer, from, to }) => buffer.bytes > 4 * rowBytes && to - from > (6 * duration) / map.width)
    assert.ok(wide.length > 8)
    expected.push(...wide.map(({ buffer, from, to }) => ({ time: (from + to) / 2, buffer })))
    for (const { time, buffer } of expected) {
      await pointAt(time, buffer.offset + buffer.bytes / 2)
      const [name, ...lines] = (await tipOf(page)).split('\n')
      assert.is(name, buffer.name)
      if (buffer.layer !== undefined) assert.is(lines[0], `layer ${buffer.layer}`)
      assert.ok(lines.includes(buffer.kind), buffer.kind)
      assert.ok(
        lines.some((line) => line.includes(`(${buffer.bytes.toLocaleString('en')} bytes) at ${buffer.offset.toLocaleString('en')}`))
      )
    }
    await page.mouse.move(1, 1)
    assert.is(await tipOf(page), '')
  })
})

check('the plan that is recommended is drawn beside the present one, to the same scale', async () => {
  const { recommended } = await valueOf(makeExplanation({ ...asked, budget: '60%', report: at('explain.html') }))
  const program = recommended!.program()
  await withPage(at('explain.html'), async (page) => {
    const headings = (await page.evaluate(`[...document.querySelectorAll('h3')].map((one) => one.textContent)`)) as readonly string[]
    const maps = headings.filter((text) => text.startsWith('Address over time'))
    assert.is(maps.length, 2)
    assert.match(maps[1]!, /as recommended, in /)
    const { step, recommended: drawn } = (await page.evaluate(`JSON.parse(document.getElementById('report').textContent)`)) as Report
    const [milliseconds, bytes] = [step, drawn!.step].reduce<readonly [number, number]>(
      ([time, room], one) => [Math.max(time, one!.nanoseconds / 1e6), Math.max(room, one!.addressBytes)],
      [0, 0]
    )
    const second = await mapOf(page, 1)
    const largest = program.buffers.filter(({ role }) => role !== 'persistent').reduce((most, one) => (one.bytes > most.bytes ? one : most))
    const life = drawn!.step.lifetimes
    const at = life.buffer.indexOf(program.buffers.indexOf(largest))
    const time = (life.from[at]! + life.to[at]!) / 2e6
    const address = largest.offset + largest.bytes / 2
    await page.mouse.move(second.left + (time / milliseconds) * second.width, second.top + (1 - address / bytes) * second.height)
    assert.is((await tipOf(page)).split('\n')[0], largest.name)
  })
})

check('dragging zooms all charts of time, a double click shows all again', async () => {
  await valueOf(makePlan({ ...asked, budget: '60%', report: at('zoom.html') }))
  await withPage(at('zoom.html'), async (page) => {
    const map = await mapOf(page)
    const before = await page.screenshot({ encoding: 'base64' })
    const middle = map.top + map.height / 2
    await page.mouse.move(map.left + map.width / 4, middle)
    await page.mouse.down()
    await page.mouse.move(map.left + map.width / 2, middle, { steps: 4 })
    await page.mouse.up()
    await page.mouse.move(1, 1)
    assert.is.not(await page.screenshot({ encoding: 'base64' }), before)
    await page.mouse.click(map.left + map.width / 2, middle, { count: 2 })
    await page.mouse.move(1, 1)
    assert.is(await page.screenshot({ encoding: 'base64' }), before)
  })
})

check('a comparison draws, in the dark and on paper', async () => {
  await valueOf(compare({ ...asked, budgets: ['60%', '100%'], strategies: ['plain', 'sft'], report: at('compare.html') }))
  await withPage(at('compare.html'), async (page) => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }])
    assert.is(await page.evaluate(`getComputedStyle(document.body).backgroundColor`), 'rgb(20, 24, 31)')
    assert.ok((await page.pdf()).length > 5000)
    assert.is(await page.evaluate(`document.querySelectorAll('table tbody tr').length`), 2)
  })
})

/** A step with so many buffers, each of which lives for a while beside others. */
const crowded = (count: number): Report => {
  const places = Array.from({ length: count }, (_, index) => index)
  const [bytes, lanes, duration] = [2 ** 20, 100, 1e9]
  const step: NonNullable<Report['step']> = {
    nanoseconds: duration,
    joinedNanoseconds: 0,
    addressBytes: lanes * bytes,
    peakBytes: lanes * bytes,
    budgetBytes: lanes * bytes,
    plainPeakBytes: 2 * lanes * bytes,
    engines: ['compute', 'to-device', 'to-host'],
    kinds: ['parameters', 'optimizer state', 'gradients of parameters', 'activations', 'gradients of activations', 'workspace'],
    texts: places.map((place) => `output of features.${place}`),
    buffers: {
      name: places,
      layer: places.map(() => -1),
      kind: places.map((place) => place % 6),
      offset: places.map((place) => (place % lanes) * bytes),
      bytes: places.map(() => bytes)
    },
    lifetimes: {
      buffer: places,
      from: places.map((place) => (Math.floor(place / lanes) * lanes * duration) / count),
      to: places.map((place) => ((Math.floor(place / lanes) + 1) * lanes * duration) / count)
    },
    spans: {
      engine: places.map(() => 0),
      from: places.map((place) => (place * duration) / count),
      to: places.map((place) => ((place + 1) * duration) / count),
      text: places,
      times: places.map(() => 1)
    },
    live: { time: [0, duration], bytes: [lanes * bytes, 0] },
    plainLive: null,
    hostLive: { time: [], bytes: [] }
  }
  return { ...emptyReport('crowded', ''), step }
}

check('20,000 buffers are drawn and found in no time, in less than 3 MB', async () => {
  const page = reportPage(crowded(20_000))
  assert.ok(page.length < 3e6, `${page.length}`)
  writeFileSync(at('crowded.html'), page)
  await withPage(at('crowded.html'), async (page) => {
    const { left, top, width, height } = await mapOf(page)
    await page.mouse.move(left + width / 2 + 1, top + height / 2 - 2)
    // The middle of 200 groups in time of 100 buffers each, and the lane just above the middle.
    assert.is((await tipOf(page)).split('\n')[0], 'output of features.10050')
    const started = Date.now()
    for (let index = 0; index < 20; index++) await page.mouse.move(left + (width * (index + 0.5)) / 20, top + height / 3)
    assert.ok((Date.now() - started) / 20 < 200, `${(Date.now() - started) / 20} ms for each move`)
  })
})

pages.run()
