#!/usr/bin/env node
'use strict'
// Builds the native addon from its sources, here in the package: for machines that no ready-made
// one fits.
require('./check-node.js')
const { spawnSync } = require('node:child_process')
const { createRequire } = require('node:module')
const { join } = require('node:path')
const { missingTools } = require('./missing-tools.js')

const root = join(__dirname, '..')

const stop = (sentence) => {
  console.error(sentence)
  process.exit(2)
}

/** A package beside Tilefold, or of the project that this runs in. */
const find = (name) => {
  for (const from of [__filename, join(process.cwd(), 'package.json')])
    try {
      return createRequire(from).resolve(`${name}/package.json`)
    } catch {
      continue
    }
  return undefined
}

const tools = missingTools()
if (tools.length > 0)
  stop(
    `the addon cannot be built without ${tools.map(({ name }) => name).join(', ')}: on Debian and Ubuntu, ` +
      `apt install ${tools.map((tool) => tool.package).join(' ')} (docs/install.md)`
  )
const packages = ['cmake-js', 'node-addon-api'].filter((name) => find(name) === undefined)
const versioned = packages.map((name) => `${name}@8`)
if (packages.length > 0)
  stop(`the addon cannot be built without the packages ${packages.join(' and ')}: run npm install ${versioned.join(' ')}`)

const cmakeJs = join(find('cmake-js'), '..', 'bin', 'cmake-js')
// `build` alone would pass options over where something was built before.
for (const step of ['configure', 'build']) {
  const args = [cmakeJs, step, '--directory', join(root, 'native'), ...process.argv.slice(2)]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) stop('the addon could not be built, see above (docs/install.md says what is needed)')
}
console.log('the addon is built')
