'use strict'
// Loads TypeScript as the command line does: node -r ./test/transpile.js FILE. Of the tests in it all run, or those whose names have
// TILEFOLD_TEST_NAME in them.
require('../src/modules/load-typescript.js')

const wanted = process.env.TILEFOLD_TEST_NAME
if (wanted) {
  const uvu = require('uvu')
  const only = (test) => {
    const named = (name, run) => (name.includes(wanted) ? test(name, run) : undefined)
    return Object.assign(named, test, { skip: (name, run) => (name.includes(wanted) ? test.skip(name, run) : undefined) })
  }
  const { suite } = uvu
  uvu.test = only(uvu.test)
  uvu.suite = (...args) => only(suite(...args))
}
