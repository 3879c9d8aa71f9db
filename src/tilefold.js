#!/usr/bin/env node
'use strict'
const { join } = require('node:path')

require('ts-node').register({ project: join(__dirname, '..', 'tsconfig.json'), transpileOnly: true })
void require('./cli.ts').main(process.argv)
