'use strict'
// A plan takes seconds, of which V8 spends a third on optimising code that has hardly run, and on
// doing that again: so it counts four times as long. Nothing else changes. Known of V8 up to 13.
if (Number.parseInt(process.versions.v8, 10) <= 13) require('node:v8').setFlagsFromString('--interrupt-budget=300000')
