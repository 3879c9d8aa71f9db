'use strict'
// Loads TypeScript as the command line does: node -r ./test/transpile.js FILE.
require('../src/load-typescript.js')
