/**
 * A project that knows nothing of this clone: the packages are packed here, and installed there
 * without network.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import { root } from '../src/command-line'

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Where no folder around it has packages, as the usual one for temporary files may. */
const folder = mkdtempSync('/var/tmp/tilefold-test-')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** What this clone says of itself must not reach the project. */
const environment = ({
  TILEFOLD_ADDON: _,
  TILEFOLD_KEPT: _kept,
  NODE_OPTIONS: _options,
  ...rest
}: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...rest,
  XDG_CACHE_HOME: join(folder, 'cache'),
  npm_config_update_notifier: 'false'
})

export const run = (cwd: string, command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): Ended =>
  spawnSync(command, args, { cwd, encoding: 'utf8', env: { ...environment(process.env), ...more }, maxBuffer: 2 ** 26 })

const successful = (cwd: string, command: string, args: readonly string[]): string => {
  const { status, stdout, stderr } = run(cwd, command, args)
  assert.is(status, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
  return stdout
}

/** Packs the library into a folder. It is compiled in one place, so by one test file at a time. */
export const packLibrary = (to: string): void => {
  const lock = join(root, 'node_modules', '.cache', 'tilefold', 'packing')
  mkdirSync(dirname(lock), { recursive: true })
  successful(root, 'flock', [lock, 'npm', 'pack', '--silent', '--pack-destination', to])
}

export const packAddon = (to: string, more: readonly string[] = []): void => {
  successful(root, 'npm', ['run', '--silent', 'pack:addon', '--', '--out', to, ...more])
}

/**
 * The .tgz of the library and of the addon that was built here; TILEFOLD_TARBALLS has them already.
 */
const tarballs = (): readonly string[] => {
  const packed = process.env['TILEFOLD_TARBALLS'] ?? join(folder, 'packed')
  if (!existsSync(packed)) {
    mkdirSync(packed)
    packLibrary(packed)
    packAddon(packed)
  }
  return readdirSync(packed)
    .sort()
    .map((name) => join(packed, name))
}

const write = (path: string, text: string): string => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** Files by their paths, written below a folder. */
export const writeFiles = (below: string, files: Readonly<Record<string, string | object>>): void =>
  Object.entries(files).forEach(([name, text]) => write(join(below, name), typeof text === 'string' ? text : JSON.stringify(text)))

/**
 * An empty project with nothing but the two packages, installed without network and with an empty
 * cache of npm's, or without the addon; what npm said.
 */
export const installed = (has: 'both' | 'no addon' = 'both'): { readonly project: string; readonly said: string } => {
  const project = join(folder, has === 'both' ? 'project' : 'project-without-addon')
  writeFiles(project, { 'package.json': { name: 'project', version: '1.0.0', private: true } })
  const wanted = tarballs().filter((path) => has === 'both' || /^tilefold-\d/.test(basename(path)))
  const options = ['--offline', '--no-audit', '--no-fund', '--cache', join(folder, 'npm')]
  return { project, said: successful(project, 'npm', ['install', ...wanted, ...options]) }
}

/** Packages of this clone's own, for a folder below the project. */
export const borrow = (below: string, names: readonly string[]): void =>
  names.forEach((name) => {
    const place = join(below, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), place)
  })

export interface NodeProgram {
  readonly name: string
  readonly program: string
}

const majors = ['20', '22', '24'] as const

/** Kept between runs, since each is 40 MB. */
const kept = join(root, 'node_modules', '.cache', 'tilefold', 'nodes')

const fetched = (major: string): readonly NodeProgram[] => {
  const place = join(kept, major)
  const program = join(place, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node')
  if (!existsSync(program)) {
    writeFiles(place, { 'package.json': { private: true } })
    run(place, 'npm', ['install', '--no-audit', '--no-fund', `node-linux-${process.arch}@${major}`])
  }
  return existsSync(program) ? [{ name: `Node ${major}`, program }] : []
}

/** The Node that runs this, and the others that npm can give of those that are wanted. */
export const nodes = (wanted: readonly (typeof majors)[number][] = majors): readonly NodeProgram[] => [
  { name: process.version, program: process.execPath },
  ...wanted.filter((major) => !process.version.startsWith(`v${major}.`)).flatMap(fetched)
]

/** What a program must print, with nothing on standard error. */
export const prints = ({ status, stdout, stderr }: Ended, expected: string | RegExp, what: string): void => {
  assert.is(stderr, '', `${what}\n${stdout}`)
  if (typeof expected === 'string') assert.is(stdout, expected, what)
  else assert.match(stdout, expected, what)
  assert.is(status, 0, what)
}
