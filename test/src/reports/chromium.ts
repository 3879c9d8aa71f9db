import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Browser, launch } from 'puppeteer-core'

const places = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`)

const found = (): string | undefined => [process.env['TILEFOLD_CHROMIUM'] ?? '', ...places].find(existsSync)

/** Debian's package, where CI may install it. */
const install = (): void => {
  if (process.env['CI'] !== 'true' || process.getuid?.() !== 0) return
  spawnSync('apt-get', ['update'])
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'])
}

/**
 * The path of Chromium, installed where that is allowed; where there is none, says so and that
 * tests of pages are skipped.
 */
export const findChromium = (): string | undefined => {
  if (found() === undefined) install()
  const path = found()
  if (path === undefined) console.log('tests of pages are skipped: there is no Chromium; install it, or name one in TILEFOLD_CHROMIUM')
  return path
}

/** A browser without a window; what it shows is thrown away at the end. */
export const openBrowser = (executablePath: string): Promise<Browser> =>
  launch({ executablePath, headless: true, args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] })
