'use strict'
// Writes what `npm run test:systems` found into docs/systems.md.
const { execFileSync } = require('node:child_process')
const { readFileSync, writeFileSync } = require('node:fs')
const { cpus, release } = require('node:os')
const { join } = require('node:path')

const path = join(__dirname, '..', 'docs', 'systems.md')
const git = (...args) => execFileSync('git', args, { cwd: __dirname, encoding: 'utf8' }).trim()

const row = ({ name, passed, failed, skipped, cpuSeconds }) =>
  `| \`${name}\` | ${passed} | ${failed} | ${skipped} | ${cpuSeconds?.toFixed(0) ?? '-'} |`

/** In the place of the results that stand below this heading. */
const heading = '## Last results'

exports.write = async (results) => {
  const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ', with changes'
  const machine = `${cpus().length} x ${cpus()[0].model}, Linux ${release()}`
  const text = [
    `\`npm run test:systems\` on ${new Date().toISOString().slice(0, 10)}, commit ${git('rev-parse', '--short=7', 'HEAD')}${changed}, ${machine}:`,
    '',
    '| file | passed | failed | skipped | CPU seconds |',
    '| --- | --: | --: | --: | --: |',
    ...[...results].sort((a, b) => (a.name < b.name ? -1 : 1)).map(row)
  ].join('\n')
  const before = readFileSync(path, 'utf8').split(heading)[0]
  const prettier = require('prettier')
  const options = await prettier.resolveConfig(path)
  writeFileSync(path, await prettier.format(`${before}${heading}\n\n${text}\n`, { ...options, filepath: path }))
}
