#!/usr/bin/env node
'use strict'
// Builds the native addon from its sources, here in the package: for machines that no ready-made
// one fits.
const { spawnSync } = require('node:child_process')
const { createRequire } = require('node:module')
const { join } = require('node:path')

const root = join(__dirname, '..')

const stop = (sentence) => {
  console.error(sentence)
  process.exit(2)
}

const runs = (command, args, input = '') => spawnSync(command, args, { input, stdio: ['pipe', 'ignore', 'ignore'] }).status === 0
const compiler = process.env.CXX ?? 'c++'
const compiles = (source) => runs(compiler, ['-std=c++17', '-fsyntax-only', '-x', 'c++', '-'], source)

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

const tools = [
  ...(runs('cmake', ['--version']) ? [] : ['cmake']),
  ...(runs('make', ['--version']) || runs('ninja', ['--version']) ? [] : ['make']),
  ...(compiles('#include <vector>') ? [] : ['a C++17 compiler (g++)']),
  ...(compiles('#include <dnnl.hpp>') ? [] : ['oneDNN (libdnnl-dev)'])
]
if (tools.length > 0)
  stop(
    `the addon cannot be built without ${tools.join(', ')}: on Debian and Ubuntu, apt install g++ make cmake libdnnl-dev (docs/install.md)`
  )
const packages = ['cmake-js', 'node-addon-api'].filter((name) => find(name) === undefined)
if (packages.length > 0)
  stop(`the addon cannot be built without the packages ${packages.join(' and ')}: run npm install ${packages.join(' ')}`)

const cmakeJs = join(find('cmake-js'), '..', 'bin', 'cmake-js')
const args = [cmakeJs, 'build', '--directory', join(root, 'native'), ...process.argv.slice(2)]
const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
if (status !== 0) stop('the addon could not be built, see above (docs/install.md says what is needed)')
console.log('the addon is built')
