/**
 * Makes one archive for a GPU machine without network: compiled code, addon, packages, shared
 * libraries, Node, and the tests' data.
 *
 *     npm run gpu:bundle [-- OPTIONS OF CMAKE-JS, such as --CDTILEFOLD_CUDA=ON]
 *
 * Prints the archive's path last. Inside, `./gpu-check` checks and measures, `./tilefold` is the
 * command line.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isInstalled, run } from './programs'
import { copyPackages, makeManifest } from './packages'
import { copySharedLibraries } from './shared-libraries'

const root = join(__dirname, '..', '..')
const addonPath = join('native', 'build', 'Release', 'tilefold.node')

/** What a GPU machine's links carry: beyond, the archive is refused. */
const mostBytes = 60 * 2 ** 20

/**
 * Processors with AVX2 and fused multiply-add (Intel since 2013, AMD since 2015), which any machine
 * with a GPU of today has.
 */
const instructions = 'x86-64-v3'

const say = (text: string): void => void process.stderr.write(`${text}\n`)

/** The addon for other machines, in a build folder of its own; its path. */
const buildAddon = (more: readonly string[]): string => {
  const folder = join(root, 'native', 'build-bundle')
  const options = ['--CDTILEFOLD_MARCH_NATIVE=OFF', `--CDTILEFOLD_MARCH=${instructions}`]
  run(join(root, 'node_modules', '.bin', 'cmake-js'), ['build', '--directory', join(root, 'native'), '--out', folder, ...options, ...more])
  if (!/^TILEFOLD_CUDA:BOOL=ON$/m.test(readFileSync(join(folder, 'CMakeCache.txt'), 'utf8')))
    say('the addon is built without CUDA: the bundle has no device cuda; install nvcc, or see native/CMakeLists.txt')
  return join(folder, 'Release', 'tilefold.node')
}

const compiler = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc')

/** Compiled code beside what it reads that is no TypeScript; types are the tests' matter. */
const compile = (folder: string): void => {
  const emit = ['--noEmit', 'false', '--noCheck', '--rootDir', root, '--outDir', folder]
  run(process.execPath, [compiler, '-p', root, ...emit])
  const asTheyAre = [
    'package.json',
    'LICENSE',
    'src/files/cache-folder.js',
    'src/files/cached-text.js',
    'test/golden/data',
    'test/training/data',
    'examples/data/README.md',
    'examples/data/classes',
    'bench/pytorch_step.py',
    'bench/pytorch_peer.py',
    'bench/pytorch_resnet50.py'
  ]
  asTheyAre.forEach((name) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    cpSync(join(root, name), join(folder, name), { recursive: true })
  })
}

const copyProgram = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
  chmodSync(to, 0o755)
}

/** Symbols tell a debugger alone. */
const strip = (file: string): void => {
  if (isInstalled('strip')) run('strip', ['--strip-unneeded', file])
}

const writeLauncher = (path: string, script: string): void => {
  writeFileSync(path, readFileSync(join(__dirname, 'launcher.sh'), 'utf8').replaceAll('SCRIPT', script))
  chmodSync(path, 0o755)
}

/** Everything that the archive holds, in a folder. */
export const assemble = (folder: string, addon: string): void => {
  compile(folder)
  copyPackages(root, folder)
  copyProgram(addon, join(folder, addonPath))
  copyProgram(process.execPath, join(folder, 'node'))
  copySharedLibraries([addon, process.execPath], join(folder, 'lib'))
  writeLauncher(join(folder, 'gpu-check'), 'bench/gpu/check.js')
  writeLauncher(join(folder, 'tilefold'), 'src/cli.js')
}

/** `folder`'s `name` as a .tar.xz; its path. */
const archive = (folder: string, name: string): string => {
  const path = join(root, 'out', `${name}.tar.xz`)
  mkdirSync(dirname(path), { recursive: true })
  // Under another name until it is whole.
  const unfinished = `${path}.part`
  run('tar', ['--create', '--file', unfinished, '--use-compress-program', 'xz -T0 -6', '--directory', folder, name])
  const { size } = statSync(unfinished)
  if (size > mostBytes) throw new Error(`${path} has ${size} bytes, over the ${mostBytes} that it may have`)
  renameSync(unfinished, path)
  return path
}

const main = (more: readonly string[]): void => {
  const missing = ['tar', 'xz', 'ldd'].filter((program) => !isInstalled(program))
  if (missing.length > 0)
    throw new Error(`the bundle needs ${missing.join(' and ')}: install them (Debian, Ubuntu: apt install tar xz-utils libc-bin)`)
  if (!isInstalled('strip')) say('strip is missing, so Node is packed with its symbols: install binutils for a smaller archive')
  if (!existsSync(compiler)) throw new Error('the packages are not installed: run npm ci')
  const name = `tilefold-gpu-${makeManifest(root).version}`
  const temporary = mkdtempSync(join(tmpdir(), 'tilefold-bundle-'))
  try {
    const folder = join(temporary, name)
    const addon = buildAddon(more)
    assemble(folder, addon)
    ;[join(folder, 'node'), join(folder, addonPath)].forEach(strip)
    process.stdout.write(`${archive(temporary, name)}\n`)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

if (require.main === module)
  try {
    main(process.argv.slice(2))
  } catch (thrown) {
    say(thrown instanceof Error ? thrown.message : String(thrown))
    process.exitCode = 1
  }
