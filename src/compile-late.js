'use strict'
// A plan takes seconds, of which V8 would spend a third on optimising code that has hardly run, and
// on doing that again: so it counts nine times as long. Later V8s than Node 20's count otherwise.
if (process.versions.v8.startsWith('11.')) require('node:v8').setFlagsFromString('--interrupt-budget=600000')
