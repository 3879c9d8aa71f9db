'use strict'
// Marks the versions of bundled packages that our declarations name, before they are packed, and
// takes the marks away again with --undo. TypeScript takes two packages of one name and version for
// one, and then finds errors in a project's own fp-ts of our version. Build metadata changes no
// range of versions (https://semver.org, 10).
const { readFileSync, renameSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const mark = '+tilefold'

/** Marks the packages that are installed here, or takes their marks away. */
exports.markBundled = (isMarked) => {
  for (const name of ['fp-ts', 'io-ts']) {
    const path = join(__dirname, '..', '..', 'node_modules', name, 'package.json')
    const text = readFileSync(path, 'utf8')
    const { version } = JSON.parse(text)
    const plain = version.replace(mark, '')
    const wanted = isMarked ? `${plain}${mark}` : plain
    if (wanted === version) continue
    // Replaced whole: programs that run meanwhile read it.
    writeFileSync(`${path}.new`, text.replace(`"version": "${version}"`, `"version": "${wanted}"`))
    renameSync(`${path}.new`, path)
  }
}

if (require.main === module) exports.markBundled(process.argv[2] !== '--undo')
