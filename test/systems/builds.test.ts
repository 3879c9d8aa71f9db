/** Fresh clones on other systems, which `npm start` and `npm test` begin by making ready. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Root, cloneInto, testIn } from './roots'

/** Systems' own Node may be too old; this one needs no newer glibc than that of Debian 10. */
const node = { path: process.execPath, place: '/var/tmp/node/node' }

const run = (root: Root, command: string): string => root.run(`export PATH=/var/tmp/node:$PATH; ${command}`, { seen: [node] })

/** With nothing but Node; what is missing is installed by apt. */
const setUp = (compiler: string): string => `rm -rf native/build; CXX=${compiler} node src/setup.js`

const versions = 'node -p \'JSON.stringify(require("./native/build/Release/tilefold.node").versions().value)\''

/** What convolutions, golden values and derivatives hold the cpu device to. */
const tests = 'node test/run.js native/convolutions golden/operations properties/finite-differences'

const systems = [
  { name: 'debian13', release: 'trixie', compiler: 'c++', packages: [] },
  { name: 'debian13-clang', release: 'trixie', compiler: 'clang++', packages: ['clang'] },
  { name: 'ubuntu24.04', release: 'noble', compiler: 'c++', packages: [] }
] as const

for (const { name, release, compiler, packages } of systems)
  testIn(name, release, packages, `${name}: what ${compiler} builds of a clone with oneDNN 3 passes the cpu's tests`, (root) => {
    run(root, setUp(compiler))
    assert.match(run(root, versions), /"library":"oneDNN","version":"3\./)
    assert.match(run(root, tests), /\n[1-9]\d* passed, 0 failed/)
  })

/** Debian's own Node and npm, and nothing else: both commands install the rest. */
testIn('debian13-clone', 'trixie', ['nodejs', 'npm'], 'debian13: npm start and npm test of a fresh clone need nothing first', (root) => {
  const clone = cloneInto(root)
  assert.match(root.run(`cd ${clone} && npm start`), /peak, measured .* of plain[^]*loss, last \d+ steps/)
  assert.match(root.run(`cd ${clone} && npm test`), /\n[1-9]\d* passed, 0 failed\n$/)
})

testIn('ubuntu22.04', 'jammy', [], 'ubuntu22.04: its oneDNN 2.2 is too old, which a clone says', (root) => {
  const said = run(root, `${setUp('c++')} 2>&1 || true`)
  assert.match(
    said,
    /\nThis system's packages bring no oneDNN 2\.6 to 3: take a newer system, or install prebuilt packages \(docs\/install\.md\)\.\n$/
  )
})

test.run()
