import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { script, testIn } from './roots'

const prebuilt = mkdtempSync(join(tmpdir(), 'tilefold-prebuilt-'))
process.on('exit', () => rmSync(prebuilt, { recursive: true, force: true }))

/**
 * This Node: those of nodejs.org and of npm's package `node` need glibc 2.28 and libstdc++ only.
 */
const node = dirname(process.execPath)

const releases = { 'debian11-bare': 'bullseye', 'debian12-bare': 'bookworm', 'debian13-bare': 'trixie' }

const versions = 'require("./native/build/Release/tilefold.node").versions().value'

const built = script('native/prebuilt/build.sh', [prebuilt])
if ('impossible' in built) console.log(`the prebuilt addon: skipped, for ${built.impossible}`)
else
  for (const [name, release] of Object.entries(releases))
    testIn(name, release, [], `${release}: the prebuilt addon runs where no compiler and no oneDNN are`, (root) => {
      const here = (command: string): string =>
        root.run(`mkdir -p /node && cp -f ${process.execPath} /node/node; PATH=/node:$PATH; ${command}`, [node, prebuilt])
      here(
        `rm -rf native/build && mkdir -p native/build/Release && cp ${prebuilt}/tilefold.node ${prebuilt}/libgomp.so.1 native/build/Release/`
      )
      assert.match(here(`node -p 'JSON.stringify(${versions})'`), /"library":"oneDNN","version":"3\./)
      assert.match(here('node test/run.js native/convolutions golden/operations'), /\n[1-9]\d* passed, 0 failed/)
    })

test.run()
