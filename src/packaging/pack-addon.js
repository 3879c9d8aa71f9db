'use strict'
// Packs the addon that was built here as an npm package for machines like this one: what lies
// beside it, and sharp with what it needs. Prints the path of the .tgz last.
//
//     npm run pack:addon [-- --build FOLDER] [--out FOLDER]
const { execFileSync } = require('node:child_process')
const { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { tmpdir } = require('node:os')
const { join, relative, resolve } = require('node:path')
const { parseArgs } = require('node:util')
require('../modules/load-typescript.js')
const { prebuilts } = require('../../native/addon/prebuilt.ts')

const root = join(__dirname, '..', '..')
const { version, license, engines } = require('../../package.json')

const stop = (sentence) => {
  console.error(sentence)
  process.exit(1)
}

const { values } = (() => {
  try {
    return parseArgs({
      options: { build: { type: 'string', default: join(root, 'native', 'build') }, out: { type: 'string', default: root } }
    })
  } catch (error) {
    return stop(`${error.message}; usage: npm run pack:addon [-- --build FOLDER] [--out FOLDER]`)
  }
})()
const build = resolve(values.build)
const release = join(build, 'Release')
const addon = join(release, 'tilefold.node')

// What CMake was told says for which machines the addon is.
for (const path of [addon, join(build, 'CMakeCache.txt')])
  if (!existsSync(path))
    stop(`${path} is not there: build the addon first, with npm run build, or name the folder of another build by --build`)

/** The kinds of processors in the head of an ELF file. */
const machines = { 0x3e: 'x64', 0xb7: 'arm64' }
const bytes = readFileSync(addon)
const processor = machines[bytes.readUInt16LE(18)]
const option = (name) => new RegExp(`^${name}:\\w+=(.*)$`, 'm').exec(readFileSync(join(build, 'CMakeCache.txt'), 'utf8'))?.[1]
const hasCuda = option('TILEFOLD_CUDA') === 'ON'
const prebuilt = prebuilts.find((one) => one.processor === processor && one.name.endsWith('-cuda') === hasCuda)
if (prebuilt === undefined)
  stop(`there is no package for an addon of ${processor}${hasCuda ? ' with CUDA' : ''} (native/addon/prebuilt.ts)`)
if (option('TILEFOLD_MARCH_NATIVE') === 'ON')
  console.error(
    'the addon is built for the processor of this machine, and may not run on others: CONTRIBUTING.md says how to build one to give away'
  )

/** The newest glibc of which it asks for something. */
const glibc = [...bytes.toString('latin1').matchAll(/GLIBC_(\d+)\.(\d+)/g)]
  .map(([, major, minor]) => [Number(major), Number(minor)])
  .sort((a, b) => b[0] - a[0] || b[1] - a[1])[0]
  ?.join('.')

/** By CUDA's licence (1.1.2) its runtime is shipped for the use of one program alone. */
const gpuText =
  'Its cuda device needs an NVIDIA GPU of compute capability 7.5 or newer, its driver 580 or newer, cuDNN 9 and cuBLAS (docs/gpu.md of tilefold).\n' +
  "NVIDIA's CUDA runtime is within it, under the licence in licences/cuda.txt, for use by this addon alone.\n"

const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** The folder of a package as Node finds it from another; undefined where it is not installed. */
const folderOf = (name, from) =>
  createRequire(join(from, 'package.json'))
    .resolve.paths(name)
    .map((folder) => join(folder, name))
    .find(existsSync)

/** A package and all that it needs, by their folders; of the optional ones those that are there. */
const withDependencies = (folder, found = new Set()) => {
  if (found.has(folder)) return found
  found.add(folder)
  const { dependencies = {}, optionalDependencies = {} } = manifestOf(folder)
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const needed = folderOf(name, folder)
    if (needed !== undefined) withDependencies(needed, found)
    else if (!(name in optionalDependencies)) stop(`the package ${name} is not installed: run npm ci`)
  }
  return found
}

const write = (folder) => {
  const libraries = readdirSync(release).filter((name) => name === 'tilefold.node' || /\.so(\.\d+)*$/.test(name))
  for (const name of libraries) copyFileSync(join(release, name), join(folder, name))
  const licences = join(build, 'licences')
  if (existsSync(licences)) cpSync(licences, join(folder, 'licences'), { recursive: true })
  const sharp = folderOf('sharp', root)
  for (const one of withDependencies(sharp))
    cpSync(one, join(folder, relative(root, one)), {
      recursive: true,
      dereference: true,
      filter: (path) => !relative(one, path).split('/').includes('node_modules')
    })
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(
    join(folder, 'README.md'),
    `# ${prebuilt.name}\n\nThe native addon of Tilefold for ${prebuilt.system} on ${processor}${hasCuda ? ', with CUDA' : ''}: needs glibc ${glibc} or newer` +
      `${prebuilt.instructions.length > 0 ? `, and a processor with ${prebuilt.instructions.join(', ')}` : ''}.\n` +
      `${hasCuda ? gpuText : ''}It brings sharp, whose libvips is under the LGPL-3.0-or-later (node_modules/@img/sharp-libvips-*/README.md).\n`
  )
  const manifest = {
    name: prebuilt.name,
    version,
    description: `Tilefold's native addon for ${prebuilt.system} on ${processor}${hasCuda ? ', with CUDA' : ''}`,
    license,
    engines,
    os: [prebuilt.system],
    cpu: [processor],
    libc: ['glibc'],
    main: 'tilefold.node',
    files: [...libraries, 'licences', 'README.md'],
    dependencies: { sharp: manifestOf(sharp).version },
    bundleDependencies: ['sharp']
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
}

const folder = mkdtempSync(join(tmpdir(), 'tilefold-addon-'))
try {
  write(folder)
  mkdirSync(values.out, { recursive: true })
  const name = execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(values.out)], {
    cwd: folder,
    encoding: 'utf8'
  }).trim()
  console.log(relative(process.cwd(), join(resolve(values.out), name)))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
