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

/** A folder for what is packed. */
const packedIn = (name: string): string => {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}

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

/** A shell's command with Node and what is packed at hand, and without network. */
const offline = (root: Root, packed: string, command: string): string =>
  root.run(`export PATH=${node}:$PATH npm_config_update_notifier=false; ${command}`, {
    seen: [npm, packed, { path: process.execPath, place: join(node, 'node') }],
    isOffline: true
  })

const stranger = '/work/stranger'
const command = `cd ${stranger} && node_modules/.bin/tilefold`

/** Both packages, installed as docs/install.md says. */
const install = (root: Root, packed: string): void => {
  const installing = [
    `rm -rf ${stranger} && mkdir -p ${stranger} && cd ${stranger}`,
    `node ${npm}/npm/bin/npm-cli.js install --offline --no-audit --no-fund ${packed}/*.tgz`
  ]
  assert.match(offline(root, packed, installing.join(' && ')), /added 2 packages/)
}

/** A plan and a short training by what is installed. */
const runs = (root: Root, packed: string): void => {
  const planning = `${command} plan vgg16 --classes 2 --input 1x3x2048x2048 --budget 1GiB`
  assert.match(offline(root, packed, planning), /^vgg16, input 1x3x2048x2048/)
  const model = `cat >${stranger}/model.mjs <<'END'\n${javascriptModel}END\n`
  const training = `${command} train model.mjs --data /work/tilefold/examples/data/classes --steps 2 --seed 1 --json`
  assert.is(JSON.parse(offline(root, packed, `${model}${training}`)).steps, 2)
}

/** A plan for a GPU, which this machine has not: the sentence is all that is said. */
const refusesGpu = (root: Root, packed: string, sentence: RegExp): void => {
  const planning = `${command} plan vgg11 --input 1x3x64x64 --device cuda`
  assert.match(offline(root, packed, `{ ${planning} || echo "status $?"; } 2>&1`), sentence)
}

const built = script('native/prebuilt/build.sh', [join(folder, 'build')])
if ('impossible' in built) console.log(`the prebuilt addon: skipped, for ${built.impossible}`)
else {
  const packed = packedIn('packed')
  packLibrary(packed)
  packAddon(packed, ['--build', join(folder, 'build')])
  for (const [name, release] of Object.entries(releases))
    testIn(name, release, [], `${release}: the packages install and run where nothing else is`, (root) => {
      install(root, packed)
      runs(root, packed)
      refusesGpu(root, packed, /^this addon was built without CUDA: [^\n]* or use --device cpu\.\nstatus \d\n$/)
      const addon = `TILEFOLD_ADDON=${stranger}/node_modules/@tilefold/linux-x64/tilefold.node`
      const tests = 'node test/run.js native/convolutions golden/operations'
      assert.match(offline(root, packed, `${addon} ${tests}`), /\n[1-9]\d* passed, 0 failed/)
    })
  testIn('debian13-old-processor', 'trixie', ['qemu-user'], 'a processor without AVX2 is refused in a sentence', (root) => {
    install(root, packed)
    const planning = `cd ${stranger} && qemu-x86_64 -cpu Nehalem ${node}/node node_modules/.bin/tilefold plan vgg11 --input 1x3x64x64`
    const said = offline(root, packed, `{ ${planning} || echo "status $?"; } 2>&1`)
    assert.match(said, /^[^\n]* AVX2 and FMA \(x86-64-v3\), [^\n]*\nstatus \d\n$/)
  })

  const builtWithCuda = script('native/prebuilt/build.sh', ['--cuda', join(folder, 'build-cuda')])
  if ('impossible' in builtWithCuda) console.log(`the prebuilt addon with CUDA: skipped, for ${builtWithCuda.impossible}`)
  else {
    const packedWithCuda = packedIn('packed-cuda')
    packLibrary(packedWithCuda)
    packAddon(packedWithCuda, ['--build', join(folder, 'build-cuda')])
    testIn('debian11-bare', 'bullseye', [], 'the package with CUDA installs and runs where there is no GPU', (root) => {
      install(root, packedWithCuda)
      assert.match(offline(root, packedWithCuda, `ls ${stranger}/node_modules/@tilefold`), /^linux-x64-cuda\n$/)
      runs(root, packedWithCuda)
      refusesGpu(root, packedWithCuda, /^[^\n]*CUDA[^\n]*\.\nstatus \d\n$/)
    })
  }
}

test.run()
