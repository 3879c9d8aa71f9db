'use strict'
// In a clone, where nothing is compiled, the package's own names lead to its sources.
const Module = require('node:module')
const { join, sep } = require('node:path')

const root = join(__dirname, '..', '..')

const sources = {
  tilefold: join(root, 'src', 'index.ts'),
  'tilefold/dsl': join(root, 'dsl', 'index.ts'),
  'tilefold/models': join(root, 'models', 'index.ts'),
  'tilefold/promise': join(root, 'src', 'promise.ts')
}

const resolve = Module._resolveFilename

/** Whoever installed the package beside their own files means that one. */
const isOurs = (path) => path?.startsWith(root + sep) && !path.startsWith(join(root, 'node_modules') + sep)

Module._resolveFilename = function (request, parent, ...rest) {
  return Object.hasOwn(sources, request) && isOurs(parent?.filename) ? sources[request] : resolve.call(this, request, parent, ...rest)
}
