#!/usr/bin/env node
'use strict'

require('./modules/load-typescript.js')
// First, since the rest takes a while to load: a Ctrl-C is answered from here on.
require('./cli/interruption.ts').interruption(process.argv.includes('--json'))
void require('./cli.ts').main(process.argv)
