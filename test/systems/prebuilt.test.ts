/**
 * The packages with the prebuilt addon, in systems that have neither a compiler nor oneDNN nor
 * network: installed as docs/install.md says, then held to PyTorch's values.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { javascriptModel } from './example-programs'
import { type Root, checkout, script, testIn } from './roots'
import { packAddon, packLibrary, run } from './strange-project'

const folder = mkdtempSync('/var/tmp/tilefold-prebuilt-')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const build = join(folder, 'build')
const packed = join(folder, 'packed')
mkdirSync(packed)

const releases = {
  'debian11-bare': 'bullseye',
  'debian12-bare': 'bookworm',
  'debian13-bare': 'trixie',
  'ubuntu22.04-bare': 'jammy',
  'ubuntu24.04-bare': 'noble'
}

/**
 * This Node, which as those of nodejs.org and of npm needs no newer glibc than that of Debian 10,
 * and its npm.
 */
const npm = run(checkout, 'npm', ['root', '--global']).stdout.trim()
const node = '/var/tmp/node'

/** A shell's command with Node and the packages at hand, and without network. */
const offline = (root: Root, command: string): string =>
  root.run(`export PATH=${node}:$PATH npm_config_update_notifier=false; ${command}`, {
    seen: [npm, packed, { path: process.execPath, place: join(node, 'node') }],
    isOffline: true
  })

const stranger = '/work/stranger'
const install = [
  `rm -rf ${stranger} && mkdir -p ${stranger} && cd ${stranger}`,
  `node ${npm}/npm/bin/npm-cli.js install --offline --no-audit --no-fund ${packed}/*.tgz`
].join(' && ')

const built = script('native/prebuilt/build.sh', [build])
if ('impossible' in built) console.log(`the prebuilt addon: skipped, for ${built.impossible}`)
else {
  packLibrary(packed)
  packAddon(packed, ['--build', build])
  for (const [name, release] of Object.entries(releases))
    testIn(name, release, [], `${release}: the packages install and run where nothing else is`, (root) => {
      assert.match(offline(root, install), /added 2 packages/)
      const command = `cd ${stranger} && node_modules/.bin/tilefold`
      assert.match(offline(root, `${command} plan vgg16 --classes 2 --input 1x3x2048x2048 --budget 1GiB`), /^vgg16, input 1x3x2048x2048/)
      const model = `cat >${stranger}/model.mjs <<'END'\n${javascriptModel}END\n`
      const training = `${command} train model.mjs --data /work/tilefold/examples/data --steps 2 --seed 1 --json`
      assert.is(JSON.parse(offline(root, `${model}${training}`)).steps, 2)
      const addon = `TILEFOLD_ADDON=${stranger}/node_modules/@tilefold/linux-x64/tilefold.node`
      const tests = 'node test/run.js native/convolutions golden/operations'
      assert.match(offline(root, `${addon} ${tests}`), /\n[1-9]\d* passed, 0 failed/)
    })
  testIn('debian13-old-processor', 'trixie', ['qemu-user'], 'a processor without AVX2 is refused in a sentence', (root) => {
    offline(root, install)
    const command = `cd ${stranger} && qemu-x86_64 -cpu Nehalem ${node}/node node_modules/.bin/tilefold plan vgg11 --input 1x3x64x64`
    assert.match(offline(root, `{ ${command} || echo "status $?"; } 2>&1`), /^[^\n]* AVX2 and FMA \(x86-64-v3\), [^\n]*\nstatus \d\n$/)
  })
}

test.run()
