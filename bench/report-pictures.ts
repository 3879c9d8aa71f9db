/**
 * Makes the pictures of docs/reports.md from pages of reports: `npx ts-node bench/report-pictures.ts`.
 * Needs Chromium, in /usr/bin or named in TILEFOLD_CHROMIUM.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { launch } from 'puppeteer-core'
import { plan } from '../src/promise'

const docs = join(__dirname, '..', 'docs')
const device = join(__dirname, '..', 'devices', 'v100-16gb.json') as `${string}.json`
const folder = mkdtempSync(join(tmpdir(), 'tilefold-pictures-'))

const main = async (): Promise<void> => {
  const page = join(folder, 'plan.html')
  await plan({ model: 'vgg16', classes: 2, input: [1, 3, 1024, 1024], budget: '20%', device, report: page })
  const executablePath = process.env['TILEFOLD_CHROMIUM'] ?? '/usr/bin/chromium'
  const browser = await launch({ executablePath, args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] })
  try {
    const shown = await browser.newPage()
    await shown.setViewport({ width: 1100, height: 900 })
    await shown.goto(pathToFileURL(page).href)
    const chart = await shown.$('.chart')
    const legend = await shown.$('.legend')
    const [top, bottom] = [await chart!.boundingBox(), await legend!.boundingBox()]
    const clip = { x: top!.x, y: top!.y, width: top!.width, height: bottom!.y + bottom!.height + 8 - top!.y }
    await shown.screenshot({ path: join(docs, 'report-memory.png'), clip, captureBeyondViewport: true })
  } finally {
    await browser.close()
  }
}

void main().finally(() => rmSync(folder, { recursive: true, force: true }))
