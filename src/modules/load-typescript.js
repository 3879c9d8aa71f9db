'use strict'
// Lets `require` load TypeScript without checking it: node -r ./src/modules/load-typescript.js
// FILE. What did not change needs no compiler.
require('./from-source.js')
const { readFileSync } = require('node:fs')
const { transpiled } = require('./transpile.js')

const compiler = { version: require('typescript/package.json').version, load: () => require('typescript') }

/** As numbers, since the compiler that names them (CommonJS, ES2022) is not loaded. */
const compilerOptions = { module: 1, target: 9, esModuleInterop: true, inlineSourceMap: true }

const load = (module, file) => module._compile(transpiled(compiler, readFileSync(file, 'utf8'), file, compilerOptions).outputText, file)

process.setSourceMapsEnabled(true)
for (const extension of ['.ts', '.cts', '.mts']) require.extensions[extension] = load
