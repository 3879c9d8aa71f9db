#!/usr/bin/env node
'use strict'
const { join } = require('node:path')

// A Ctrl-C from here on waits until cli.ts, once it is loaded, can answer it.
process.on('SIGINT', () => undefined)
require('ts-node').register({ project: join(__dirname, '..', 'tsconfig.json'), transpileOnly: true })
void require('./cli.ts').main(process.argv)
