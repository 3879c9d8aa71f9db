/** Where the addon comes from, and the sentence for each reason why there is none. */
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Installation, type Machine, chooseAddon, prebuilts } from '../../native/addon/prebuilt'
import { root, tilefold } from '../src/command-line'
import { temporaryFolder } from '../src/temporary-folder'

const modern = ['sse2', 'avx2', 'bmi2', 'f16c', 'fma']
const machine: Machine = { node: 'v20.20.2', system: 'linux', processor: 'x64', instructions: () => modern }
const nothing: Installation = { version: '1.2.3', minNode: '20.17', isClone: false, local: undefined, findAddon: () => undefined }
const having = (...names: readonly string[]): Installation => ({
  ...nothing,
  findAddon: (name) => (names.includes(name) ? { version: '1.2.3', file: `/${name}` } : undefined)
})

const choose = (on: Partial<Machine>, of: Installation): string => E.toUnion(chooseAddon({ ...machine, ...on }, of))

test('an installed package comes first, with CUDA before without, and then what was built here', () => {
  const [cuda, plain] = ['@tilefold/linux-x64-cuda', '@tilefold/linux-x64']
  assert.is(choose({}, having(plain)), `/${plain}`)
  assert.is(choose({}, having(plain, cuda)), `/${cuda}`)
  assert.is(choose({}, { ...having(plain), local: 'built' }), `/${plain}`)
  assert.is(choose({}, { ...nothing, local: 'built' }), 'built')
  assert.is(choose({ processor: 'arm64' }, having('@tilefold/linux-arm64')), '/@tilefold/linux-arm64')
  assert.is(choose({ system: 'darwin', processor: 'arm64' }, { ...nothing, local: 'built' }), 'built')
})

test('a processor that lacks what a package needs takes what was built for it', () => {
  assert.is(choose({ instructions: () => ['sse2'] }, { ...having('@tilefold/linux-x64'), local: 'built' }), 'built')
  assert.is(choose({ instructions: () => undefined }, having('@tilefold/linux-x64')), '/@tilefold/linux-x64')
})

test('each reason why there is no addon is a sentence that says what to do', () => {
  const build = 'build it here with npm install cmake-js@8 node-addon-api@8 sharp@0.35 and npx tilefold-build (docs/install.md)'
  for (const [said, expected] of [
    [choose({}, nothing), `the native addon is not installed: run npm install ./tilefold-linux-x64-1.2.3.tgz, or ${build}`],
    [
      choose({ processor: 'arm64' }, having('@tilefold/linux-x64')),
      '@tilefold/linux-x64 is installed, but this machine is linux-arm64: run npm install ./tilefold-linux-arm64-1.2.3.tgz'
    ],
    [
      choose({ system: 'darwin', processor: 'arm64' }, having('@tilefold/linux-x64')),
      `there is no prebuilt addon for darwin-arm64: ${build}`
    ],
    [
      choose({ instructions: () => ['sse2', 'bmi2', 'f16c'] }, having('@tilefold/linux-x64')),
      '@tilefold/linux-x64 needs a processor with avx2, bmi2, f16c, fma (Intel since 2013, AMD since 2015), and this one lacks avx2, fma: ' +
        'take another machine'
    ],
    [choose({}, { ...nothing, isClone: true }), 'the native addon is not built: build it with "npm run build"'],
    [
      choose({ node: 'v18.20.4' }, having('@tilefold/linux-x64')),
      'Tilefold needs Node 20.17 or newer, and this is v18.20.4: install one from https://nodejs.org'
    ]
  ] as const)
    assert.is(said, expected)
  assert.not.match(choose({ node: 'v100.0.0' }, having('@tilefold/linux-x64')), / /)
})

test('an addon of another version is not taken', () => {
  const older: Installation = { ...nothing, findAddon: (name) => ({ version: '1.2.2', file: `/${name}` }) }
  assert.is(choose({}, { ...older, local: 'built' }), 'built')
  assert.is(
    choose({ processor: 'arm64' }, older),
    '@tilefold/linux-arm64 1.2.2 is installed, but this is tilefold 1.2.3: run npm install ./tilefold-linux-arm64-1.2.3.tgz'
  )
})

test('package.json names the packages that may be beside it, and asks no registry for them', () => {
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.is(peerDependencies, undefined)
  for (const name of [...prebuilts.map((one) => one.name), 'sharp', 'typescript'])
    assert.equal(peerDependenciesMeta[name], { optional: true })
})

const folder = temporaryFolder()
const built = readFileSync(join(root, 'native', 'build', 'Release', 'tilefold.node'))

test('packing an addon refuses options that it does not know in a sentence', () => {
  const packed = spawnSync(process.execPath, [join(root, 'src', 'packaging', 'pack-addon.js'), '--help'], { encoding: 'utf8' })
  assert.is(packed.stderr, "Unknown option '--help'; usage: npm run pack:addon [-- --build FOLDER] [--out FOLDER]\n")
  assert.is(packed.status, 1)
})

test('what was not built is not packed, which is a sentence', () => {
  const packed = spawnSync(process.execPath, [join(root, 'src', 'packaging', 'pack-addon.js'), '--build', folder], { encoding: 'utf8' })
  assert.is(
    packed.stderr,
    `${join(folder, 'Release', 'tilefold.node')} is not there: build the addon first, with npm run build, or name the folder of another build by --build\n`
  )
  assert.is(packed.status, 1)
})

test('a clone in which nothing is built says how to build it', () => {
  const clone = join(folder, 'clone')
  const isBuilt = (path: string): boolean => path.startsWith(join(root, 'native', 'build'))
  for (const part of ['package.json', 'tsconfig.json', 'dsl', 'models', 'native', 'src', 'staging'])
    cpSync(join(root, part), join(clone, part), { recursive: true, filter: (path) => !isBuilt(path) })
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  const { TILEFOLD_ADDON: _, ...env } = process.env
  const args = [join(clone, 'src', 'tilefold.js'), 'plan', 'vgg11', '--input', '1x3x64x64']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  assert.equal([stderr, stdout, status], ['the native addon is not built: build it with "npm run build".\n', '', 2])
})

test('a process that may load no addons is told how it may', () => {
  const args = ['--no-addons', join(root, 'src', 'tilefold.js'), 'plan', 'vgg11', '--input', '1x3x64x64']
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.match(stderr, /tilefold\.node may not be loaded in this process: start Node with --allow-addons where it has --permission, and/)
  assert.is(status, 2)
})

/** The command with a changed copy of the addon, and what it says of that. */
const saidOf = async (name: string, bytes: Uint8Array): Promise<string> => {
  const addon = join(folder, name)
  writeFileSync(addon, bytes)
  process.env['TILEFOLD_ADDON'] = addon
  const { status, stdout, stderr } = await tilefold(['plan', 'vgg11', '--input', '1x3x64x64'])
  assert.equal([stdout, status], ['', 2], stderr)
  assert.ok(stderr.startsWith(`the native addon ${addon} `), stderr)
  assert.match(stderr, /npx tilefold-build \(docs\/install\.md\)\.\n$/)
  return stderr.slice(`the native addon ${addon} `.length)
}

const changed = (change: (bytes: Buffer) => void): Buffer => {
  const bytes = Buffer.from(built)
  change(bytes)
  return bytes
}

const replaced = (from: string, to: string): Buffer =>
  changed((bytes) => {
    for (let at = bytes.indexOf(from); at !== -1; at = bytes.indexOf(from, at + 1)) bytes.write(to, at, 'latin1')
  })

test('an addon that the system cannot load is a sentence: older glibc, other libraries, another processor, damage', async () => {
  assert.match(
    await saidOf('newer.node', replaced('GLIBC_2.', 'GLIBC_9.')),
    /^needs glibc 9\.[\d.]+ or newer, and this system's is older: take a newer system, or /
  )
  assert.match(
    await saidOf('lacking.node', replaced('libstdc++.so.6', 'libstdc++.so.9')),
    /^needs libstdc\+\+\.so\.9, which this system lacks: install it, or /
  )
  assert.match(
    await saidOf(
      'other.node',
      changed((bytes) => bytes.writeUInt16LE(0xf3, 18))
    ),
    /^is for another kind of processor or system: install the one for this machine, or /
  )
  assert.match(await saidOf('cut.node', built.subarray(0, 16)), /^cannot be loaded \(.*file too short\): install it again, or /)
})

test.run()
