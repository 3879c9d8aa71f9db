#!/usr/bin/env node
'use strict'
// The command line: from its sources in a clone, compiled in the npm package.
require('./check-node.js')
require('./compile-late.js')
const { existsSync } = require('node:fs')
const { join } = require('node:path')

const isClone = existsSync(join(__dirname, 'cli.ts'))
if (isClone) require('./modules/load-typescript.js')
const folder = isClone ? __dirname : join(__dirname, '..', 'dist', 'src')
// First, since the rest takes a while to load: a Ctrl-C is answered from here on.
require(join(folder, 'cli', 'interruption')).interruption(process.argv.includes('--json'))
void require(join(folder, 'cli')).main(process.argv)
