'use strict'
// Writes what `npm run test:systems` found into docs/systems.md.
const { execFileSync } = require('node:child_process')
const { readFileSync, writeFileSync } = require('node:fs')
const { cpus, release } = require('node:os')
const { join } = require('node:path')

const path = join(__dirname, '..', 'docs', 'systems.md')
const git = (...args) => execFileSync('git', args, { cwd: __dirname, encoding: 'utf8' }).trim()

/** In the place of the results that stand below this heading. */
const heading = '## Last results'

const head = [
  '| file | day | commit | passed | failed | skipped | CPU seconds | machine |',
  '| --- | --- | --- | --: | --: | --: | --: | --- |'
]

/** The rows that stand there, by their files. */
const rowsOf = (text) => new Map([...text.matchAll(/^\| (`[^`]+`) .*$/gm)].map(([row, file]) => [file, row]))

const commitHere = () => {
  const changed = git('status', '--porcelain', '--untracked-files=no', ':/', ':(top,exclude)docs/systems.md') === '' ? '' : ', with changes'
  return `${git('rev-parse', '--short=8', 'HEAD')}${changed}`
}

/** As it is when the tests begin, which take long. */
const commit = commitHere()

/** Takes the rows of the files that ran, and leaves those of others as they are. */
exports.write = async (results) => {
  const machine = `${cpus().length} x ${cpus()[0].model}, Linux ${release()}`
  const [day] = new Date().toISOString().split('T')
  const row = ({ name, passed, failed, skipped, cpuSeconds }) => [
    `\`${name}\``,
    `| \`${name}\` | ${day} | ${commit} | ${passed} | ${failed} | ${skipped} | ${cpuSeconds?.toFixed(0) ?? '-'} | ${machine} |`
  ]
  const [before, last = ''] = readFileSync(path, 'utf8').split(heading)
  const rows = [...new Map([...rowsOf(last), ...results.map(row)])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  const text = ['`npm run test:systems`, or `node test/run.js --systems NAME`, whose rows alone are new:', '', ...head, ...rows].join('\n')
  writeFileSync(path, `${before}${heading}\n\n${text}\n`)
  execFileSync(join(__dirname, '..', 'node_modules', '.bin', 'oxfmt'), [path])
}
