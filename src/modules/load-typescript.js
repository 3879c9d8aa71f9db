'use strict'
// Lets `require` load TypeScript without checking it: node -r ./src/modules/load-typescript.js
// FILE. What did not change needs no compiler.
require('./from-source.js')
const { readFileSync } = require('node:fs')
const { install } = require('@cspotcode/source-map-support')
const { transpiled } = require('./transpile.js')

const compiler = { version: require('typescript/package.json').version, load: () => require('typescript') }

/** As numbers, since the compiler that names them (CommonJS, ES2022) is not loaded. */
const compilerOptions = { module: 1, target: 9, esModuleInterop: true, sourceMap: true }

const compiled = (file) => transpiled(compiler, readFileSync(file, 'utf8'), file, compilerOptions)

const extensions = ['.ts', '.cts', '.mts']
for (const extension of extensions) require.extensions[extension] = (module, file) => module._compile(compiled(file).outputText, file)

// Node itself would read every file's map when it loads it, a fifth of a command's start.
install({
  environment: 'node',
  handleUncaughtExceptions: false,
  retrieveSourceMap: (file) =>
    extensions.some((extension) => file.endsWith(extension)) && !file.includes('/node_modules/')
      ? { url: file, map: compiled(file).sourceMapText }
      : null
})

module.exports = { compiled }
