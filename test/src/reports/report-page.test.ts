/** Pages of reports in a real browser. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'puppeteer-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, named, relu } from '../../../dsl'
import { makeExplanation } from '../../../src/commands/explain'
import { makePlan } from '../../../src/commands/plan'
import { compare } from '../../../src'
import { reportPage } from '../../../src/reports/page'
import { type Report, emptyReport } from '../../../src/reports/report'
import { runPage } from '../../../src/reports/run-page'
import { palette } from '../../../src/results/colours'
import { twoConvolutions } from '../../staging/convolutions'
import { findChromium, openBrowser } from './chromium'
import { root } from '../command-line'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

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
const withPage = async (path: string, use: (page: Page) => Promise<void>, width = 1240): Promise<void> => {
  const page = await browser.newPage()
  const said: string[] = []
  const requests: string[] = []
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(String(error)))
  page.on('request', (request) => requests.push(request.url()))
  await page.setViewport({ width, height: 900 })
  await page.evaluateOnNewDocument(noteTexts)
  const url = pathToFileURL(path).href
  await page.goto(url)
  await use(page)
  await page.close()
  assert.equal([said, requests], [[], [url]])
}

/** Notes what is written on each canvas, and how far within it that lies. */
const noteTexts = `
  const { fillText } = CanvasRenderingContext2D.prototype
  window.written = new Map()
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { actualBoundingBoxLeft, actualBoundingBoxRight } = this.measureText(text)
    const { e } = this.getTransform()
    const isLevel = this.getTransform().b === 0
    const within = Math.min(e + x - actualBoundingBoxLeft, this.canvas.width - e - x - actualBoundingBoxRight)
    const there = window.written.get(this.canvas) ?? []
    window.written.set(this.canvas, [...there, { text: String(text), within: isLevel ? within : 0 }])
    return fillText.call(this, text, x, y)
  }`

interface Written {
  readonly name: string
  readonly texts: readonly string[]
  /** Pixels between the edge and the text that is nearest to it. */
  readonly within: number
}

const writtenOn = (page: Page): Promise<readonly Written[]> =>
  page.evaluate(`[...window.written].map(([canvas, all]) => ({
    name: canvas.getAttribute('aria-label'),
    texts: [...new Set(all.map(({ text }) => text))],
    within: Math.min(...all.map(({ within }) => within))
  }))`) as Promise<readonly Written[]>

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

const longName = 'a_layer_whose_name_has_no_end_'.repeat(7)

const longNamed = model({
  name: 'long',
  layers: [named(longName, conv2d({ out: 8, k: 3, p: 1 })), relu, conv2d({ out: 8, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
})

check('names of any length leave a narrow page as wide as it is, and layers stand beside their dots', async () => {
  await valueOf(makePlan({ ...asked, model: longNamed, budget: '60%', report: at('long.html') }))
  for (const width of [400, 1240])
    await withPage(
      at('long.html'),
      async (page) => {
        assert.is(await page.evaluate(`document.documentElement.scrollWidth`), width)
        assert.is(await page.evaluate(`[...document.querySelectorAll('td.name')][0].title`), longName)
        const beside = (await page.evaluate(`[...document.querySelectorAll('td.arrows')].flatMap((cell) => {
          const rows = [...document.querySelectorAll('.network tbody tr')]
          const first = rows.indexOf(cell.parentElement)
          return [...cell.querySelectorAll('circle')].map((dot, layer) => {
            const [{ top, height }, row] = [dot.getBoundingClientRect(), rows[first + layer].getBoundingClientRect()]
            return top + height / 2 - row.top
          })
        })`)) as readonly number[]
        assert.ok(beside.length === 7 && beside.every((pixels) => Math.abs(pixels - 12) < 1), `${beside}`)
      },
      width
    )
})

check('those who hear a page are told what its charts, pictures and columns are', async () => {
  await valueOf(makePlan({ ...asked, budget: '60%', report: at('heard.html') }))
  await withPage(at('heard.html'), async (page) => {
    const names = await page.evaluate(`[...document.querySelectorAll('.chart canvas')].map((one) => one.getAttribute('aria-label'))`)
    assert.equal(names, ['Address over time', 'Live bytes', 'Engines'])
    assert.is(
      await page.evaluate(`document.querySelectorAll('.chart canvas:not([role=img]), th:not([scope=col]), [role=status]').length`),
      0
    )
    const pictures = (await page.evaluate(
      `[...document.querySelectorAll('.pictures svg > title')].map((one) => one.textContent)`
    )) as string[]
    assert.ok(pictures.length > 0 && pictures.every((text) => / tiles: /.test(text)), `${pictures}`)
  })
})

/** The page of a run with such losses, by its path. */
const runOf = async (name: string, loss: readonly number[]): Promise<string> => {
  const planned = await valueOf(makePlan({ ...asked, budget: '60%' }))
  const learned = { loss, learningRate: loss.map(() => 0.001), validations: [] }
  const ran = {
    stepMs: loss.map((_, step) => 10 + (step % 3)),
    peakDeviceBytes: planned.staged.predicted.peakDeviceBytes,
    images: 1,
    learned
  }
  writeFileSync(at(name), reportPage(runPage(planned, 'a run', ran, emptyReport('', ''))))
  return at(name)
}

check('axes of losses of any size have marks that differ, and none is cut off', async () => {
  const texts = async (loss: readonly number[], wanted: readonly string[], title = 'Loss'): Promise<void> =>
    withPage(await runOf('losses.html', loss), async (page) => {
      const charts = await writtenOn(page)
      const { name, texts } = charts[0]!
      assert.is(name, title)
      for (const one of wanted) assert.ok(texts.includes(one), `${one} in ${texts}`)
      for (const { name, within } of charts) assert.ok(within >= 0, `${name} ${within}`)
    })
  await texts([0.7, 0, 8e4, 6.6e33], ['0', '2e+33', '4e+33', '6e+33'])
  await texts([0.7, 8e4, 6.6e33], ['1e+6', '1e+13', '1e+27'], 'Loss, logarithmic')
  await texts([0.693139, 0.693141], ['0.6931390', '0.6931400', '0.6931410'])
  await texts(
    Array.from({ length: 10_000 }, (_, step) => 1 - step / 2e4),
    ['0.6', '0.8', '1.0', '2,000', '10,000']
  )
})

check('with a single step what was predicted goes across the chart, and is told', async () => {
  await withPage(await runOf('one.html', [0.7]), async (page) => {
    const { left, top, width, height } = await mapOf(page, 2)
    for (const place of [0.1, 0.5, 0.9]) {
      await page.mouse.move(left + place * width, top + height / 2)
      const told = await tipOf(page)
      assert.match(told, /^step 1\nmeasured: 10 ms\npredicted: \d/)
    }
    // The grey of what is predicted, on the columns of its row that has the most.
    const columns = await page.evaluate(`(() => {
      const ctx = document.querySelectorAll('.chart canvas')[2].getContext('2d')
      const { width, data } = ctx.getImageData(0, 0, ctx.canvas.width, ctx.canvas.height)
      const rows = new Map()
      for (let at = 0; at < data.length; at += 4)
        if (data[at] === 140 && data[at + 1] === 140 && data[at + 2] === 140) {
          const row = Math.floor(at / 4 / width)
          rows.set(row, (rows.get(row) ?? 0) + 1)
        }
      return Math.max(...rows.values())
    })()`)
    assert.ok((columns as number) > width / 2, `${columns} of ${width}`)
  })
})

check('pixels of crops have the colours and names of their classes', async () => {
  const planned = await valueOf(makePlan({ ...asked, budget: '60%' }))
  const target = Uint8Array.of(0, 8, 255)
  const crops = [{ name: 'cells.png', height: 1, width: 3, rgb: new Uint8Array(9), target, predicted: target }]
  const ran = { stepMs: [1], peakDeviceBytes: 1, images: 1, crops, classNames: ['stroma', 'tumour'] }
  writeFileSync(at('crops.html'), reportPage(runPage(planned, 'crops', ran, emptyReport('', ''))))
  await withPage(at('crops.html'), async (page) => {
    assert.is(await page.evaluate(`document.querySelector('.crops + .legend').innerText`), 'stroma\nclass 8\ndoes not count')
    const drawn = (await page.evaluate(
      `[...document.querySelectorAll('.crops canvas')[1].getContext('2d').getImageData(0, 0, 3, 1).data]`
    )) as readonly number[]
    const wanted = [0, 8, 255].flatMap((label) => [...palette[label]!.map((channel) => Math.round(0.55 * channel)), 255])
    assert.equal(drawn, wanted)
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
