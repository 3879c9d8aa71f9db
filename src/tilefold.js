#!/usr/bin/env node
'use strict'
// The command line: from its sources in a clone, compiled in the npm package.
const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { engines } = require('../package.json')

const least = engines.node.replace('>=', '').split('.').map(Number)
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < least[0] || (major === least[0] && minor < least[1])) {
  console.error(`tilefold needs Node ${least.join('.')} or newer, and this is ${process.version}: install one from https://nodejs.org`)
  process.exit(2)
}

const isClone = existsSync(join(__dirname, 'cli.ts'))
if (isClone) require('./modules/load-typescript.js')
const folder = isClone ? __dirname : join(__dirname, '..', 'dist', 'src')
// First, since the rest takes a while to load: a Ctrl-C is answered from here on.
require(join(folder, 'cli', 'interruption')).interruption(process.argv.includes('--json'))
void require(join(folder, 'cli')).main(process.argv)
