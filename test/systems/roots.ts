// Other systems in folders: roots of Debian and Ubuntu, made by debootstrap and entered by chroot.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

export const checkout = join(__dirname, '..', '..')

/** Where roots are kept from one run to the next. */
const roots = process.env['TILEFOLD_ROOTS'] ?? join(homedir(), '.cache', 'tilefold', 'roots')

const run = (command: string, args: readonly string[], env = process.env) =>
  spawnSync(command, args, { cwd: checkout, encoding: 'utf8', env, maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'pipe'] })

/** What this run of tests is told must not reach one in a root. */
const inRoot = (): NodeJS.ProcessEnv => Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TILEFOLD_')))

/** Whom this machine trusts beside whom Node does: a root's npm asks the registry too. */
const certificates = [process.env['NODE_EXTRA_CA_CERTS'] ?? []].flat()

/** What a script cannot do here: it ends with this status, and says why last. */
const impossible = 3

export interface Surroundings {
  /** What is seen in the root: at its place, or where it is here. */
  readonly seen?: readonly (string | { readonly path: string; readonly place: string })[]
  readonly isOffline?: boolean
}

export interface Root {
  readonly path: string
  /** Runs a shell's command in a copy of this checkout; answers with what it printed. */
  readonly run: (command: string, surroundings?: Surroundings) => string
}

/**
 * Runs one of this checkout's scripts; answers with what it printed, or with why it cannot here.
 */
export const script = (path: string, args: readonly string[]): { readonly output: string } | { readonly impossible: string } => {
  const { status, stdout, stderr } = run('bash', [path, ...args])
  if (status === impossible) return { impossible: stderr.trim().split('\n').at(-1) ?? '' }
  assert.is(status, 0, `${path} ${args.join(' ')}\n${stdout}${stderr}`)
  return { output: stdout }
}

/** A clone of what is committed here, alone in its folder; answers with its place in the root. */
export const cloneInto = (root: Root): string => {
  const place = '/work/clone'
  const path = join(root.path, place)
  rmSync(path, { recursive: true, force: true })
  const { status, stderr } = run('git', ['clone', '--quiet', '--depth=1', `file://${checkout}`, path])
  assert.is(status, 0, stderr)
  return place
}

/**
 * A test in a root of a release of Debian or Ubuntu with packages; skipped with a sentence where
 * none can be made.
 */
export const testIn = (name: string, release: string, packages: readonly string[], sentence: string, body: (root: Root) => void): void => {
  const path = join(roots, name)
  const made = script('native/prebuilt/root.sh', [release, path, ...packages])
  if ('impossible' in made) {
    console.log(`${sentence}: skipped, for ${made.impossible}`)
    test.skip(sentence)
    return
  }
  test(sentence, () =>
    body({
      path,
      run: (command, { seen = [], isOffline = false } = {}) => {
        const places = [...certificates, ...seen].map((one) => (typeof one === 'string' ? one : `${one.path}=${one.place}`))
        const args = [...(isOffline ? ['--offline'] : []), path, command, ...places]
        const { status, stdout, stderr } = run('bash', ['test/systems/in-root.sh', ...args], inRoot())
        assert.is(status, 0, `${name}: ${command}\n${stdout}${stderr}`)
        return stdout
      }
    })
  )
}
