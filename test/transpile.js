'use strict'
// Loads TypeScript as the command line does: node -r ./test/transpile.js FILE. Of the tests in it
// all run, or those whose names have TILEFOLD_TEST_NAME in them.
require('../src/compile-late.js')
require('../src/modules/load-typescript.js')

// Plans must not depend on how fast this machine is now.
process.env.TILEFOLD_NO_MEASURE ??= '1'

const uvu = require('uvu')

/** uvu runs no test after a `before` that throws, but says nothing of it and ends well. */
const withTellingBefore = (test) => {
  const { before } = test
  const telling = (run) =>
    before(async (state) => {
      try {
        await run(state)
      } catch (error) {
        console.error('   FAIL  before all tests\n', error)
        process.on('exit', () => (process.exitCode = 1))
        throw error
      }
    })
  return Object.assign(test, { before: Object.assign(telling, before) })
}

const wanted = process.env.TILEFOLD_TEST_NAME
const only = (test) => {
  const named = (name, run) => (name.includes(wanted) ? test(name, run) : undefined)
  return Object.assign(named, test, { skip: (name, run) => (name.includes(wanted) ? test.skip(name, run) : undefined) })
}
const prepared = (test) => (wanted ? only(withTellingBefore(test)) : withTellingBefore(test))

const { suite } = uvu
uvu.test = prepared(uvu.test)
uvu.suite = (...args) => prepared(suite(...args))
