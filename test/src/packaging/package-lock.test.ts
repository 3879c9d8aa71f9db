/** That `npm ci` takes the lock file: it refuses one that lacks what it names, optional or not. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

test('all that the lock file names is in it', () => {
  const text = readFileSync(join(__dirname, '..', '..', '..', 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Locked>> }
  const there = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, '')))
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => (there.has(name) ? [] : [`${path} names ${name}`]))
  )
  assert.equal(missing, [])
})

test.run()
