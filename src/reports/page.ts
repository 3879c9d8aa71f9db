import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Report } from './report'

/** The page's script: in this order, since each file uses what those before it have defined. */
const scripts = [
  'elements',
  'units',
  'colours',
  'time-charts',
  'memory-map',
  'live-bytes',
  'engines',
  'network',
  'tiles',
  'tables',
  'comparison',
  'lines',
  'crops',
  'main'
]

const ofPage = (name: string): string => readFileSync(join(__dirname, 'page', name), 'utf8')

/** uPlot's folder; it is one of the packages that ours brings. */
const uPlot = (): { readonly script: string; readonly style: string; readonly licence: string } => {
  const dist = dirname(require.resolve('uplot/dist/uPlot.iife.min.js'))
  const read = (...names: readonly string[]): string => readFileSync(join(dist, ...names), 'utf8')
  return { script: read('uPlot.iife.min.js'), style: read('uPlot.min.css'), licence: read('..', 'LICENSE') }
}

/** JSON that no parser of HTML takes for a tag, whatever texts are in it. */
const embeddedJson = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c')

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (one) => escapes[one]!)

/** Asks for nothing, and nothing can be asked: the policy refuses every request. */
const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

/** One HTML file that draws a report by itself. */
export const reportPage = (report: Report): string => {
  const { script, style, licence } = uPlot()
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(report.title)}</title>
<style>${style}</style>
<style>${ofPage('page.css')}</style>
</head>
<body>
<main></main>
<script type="application/json" id="report">${embeddedJson(report)}</script>
<script>
/* Charts by uPlot, https://github.com/leeoniya/uPlot

${licence.replaceAll('*/', '')}*/
${script}
</script>
<script>
'use strict'
{
${scripts.map((name) => ofPage(`${name}.js`)).join('\n')}
}
</script>
</body>
</html>
`
}
