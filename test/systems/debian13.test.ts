import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { testIn } from './roots'

const packages = ['g++', 'clang', 'libomp-dev', 'cmake', 'make', 'libdnnl-dev', 'nodejs']

/** What convolutions, golden values and derivatives hold the cpu device to. */
const tests = 'node test/run.js native/convolutions golden/operations properties/finite-differences'

const versions = 'node -p \'JSON.stringify(require("./native/build/Release/tilefold.node").versions().value)\''

for (const compiler of ['g++', 'clang++'])
  testIn('debian13', 'trixie', packages, `Debian 13: what ${compiler} builds with oneDNN 3 passes the cpu's tests`, (root) => {
    root.run(`rm -rf native/build; CXX=${compiler} node node_modules/.bin/cmake-js build --directory native --CDTILEFOLD_CUDA=OFF`)
    assert.match(root.run(versions), /"library":"oneDNN","version":"3\./)
    assert.match(root.run(tests), /\n[1-9]\d* passed, 0 failed/)
  })

test.run()
