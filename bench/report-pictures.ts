/**
 * Makes the pictures of README and docs/reports.md from pages of reports: `npx ts-node bench/report-pictures.ts`.
 * Needs Chromium, in /usr/bin or named in TILEFOLD_CHROMIUM.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, launch } from 'puppeteer-core'
import { compare, plan } from '../src/promise'

const docs = join(__dirname, '..', 'docs')
const device = join(__dirname, '..', 'devices', 'v100-16gb.json') as `${string}.json`
const folder = mkdtempSync(join(tmpdir(), 'tilefold-pictures-'))

/** Draws the first chart of a page, with its legend, into a picture of the documents. */
const draw = async (browser: Browser, page: string, picture: string): Promise<void> => {
  const shown = await browser.newPage()
  await shown.setViewport({ width: 1100, height: 900 })
  await shown.goto(pathToFileURL(page).href)
  const chart = await shown.$('.chart')
  const legend = await shown.$('.legend')
  const [top, bottom] = [await chart!.boundingBox(), await legend!.boundingBox()]
  const clip = { x: top!.x, y: top!.y, width: top!.width, height: bottom!.y + bottom!.height + 8 - top!.y }
  await shown.screenshot({ path: join(docs, picture) as `${string}.png`, clip, captureBeyondViewport: true })
  await shown.close()
}

const main = async (): Promise<void> => {
  const [ofPlan, ofStrategies] = [join(folder, 'plan.html'), join(folder, 'compare.html')]
  const network = { model: 'vgg16', classes: 2, input: [1, 3, 1024, 1024], device } as const
  await plan({ ...network, budget: '20%', report: ofPlan })
  await compare({ ...network, budgets: ['20%', '30%', '40%', '60%', '80%', '100%'], report: ofStrategies })
  const executablePath = process.env['TILEFOLD_CHROMIUM'] ?? '/usr/bin/chromium'
  const browser = await launch({ executablePath, args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] })
  try {
    await draw(browser, ofPlan, 'report-memory.png')
    await draw(browser, ofStrategies, 'report-strategies.png')
  } finally {
    await browser.close()
  }
}

void main().finally(() => rmSync(folder, { recursive: true, force: true }))
