'use strict'
// Lets `require` load TypeScript without checking it: node -r ./src/modules/load-typescript.js
// FILE. What did not change needs no compiler.
require('./from-source.js')
const { readFileSync } = require('node:fs')
const { transpiled } = require('./transpile.js')

/** As numbers, since the compiler that names them (CommonJS, ES2022) is not loaded. */
const compilerOptions = { module: 1, target: 9, esModuleInterop: true, inlineSourceMap: true }

const load = (module, file) => module._compile(transpiled(readFileSync(file, 'utf8'), file, compilerOptions).outputText, file)

process.setSourceMapsEnabled(true)
for (const extension of ['.ts', '.cts', '.mts']) require.extensions[extension] = load
