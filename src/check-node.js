'use strict'
// Ends a program, in a sentence, where Node is too old. Whatever requires this first may use what a
// newer Node has in other files only: an old one reads a whole file before it runs any of it.
const { engines } = require('../package.json')

const least = engines.node.replace('>=', '').split('.').map(Number)
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < least[0] || (major === least[0] && minor < least[1])) {
  console.error(`Tilefold needs Node ${least.join('.')} or newer, and this is ${process.version}: install one from https://nodejs.org`)
  process.exit(2)
}
