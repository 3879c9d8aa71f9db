import { cpSync, existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import * as t from 'io-ts'
import { decodeOrThrow } from './decode'

/**
 * The fields of a package.json that are read here; an optional dependency is there where it fits
 * the machine.
 */
const Manifest = t.intersection([
  t.type({ version: t.string }),
  t.partial({ dependencies: t.record(t.string, t.string), optionalDependencies: t.record(t.string, t.string) })
])
export type Manifest = t.TypeOf<typeof Manifest>

/** The manifest of the package in a folder. Throws where that is none. */
export const makeManifest = (folder: string): Manifest => {
  const path = join(folder, 'package.json')
  return decodeOrThrow(Manifest, JSON.parse(readFileSync(path, 'utf8')), path)
}

/** What the compiled device suite needs besides. */
const testTools: readonly string[] = ['fast-check', 'uvu']

/** What reads images, which an installation has from the addon's package. */
const imageLibrary = 'sharp'

/** Where Node finds a package that is required from a folder: the nearest node_modules upwards. */
const installed = (name: string, from: string, root: string): string | undefined => {
  const folder = join(from, 'node_modules', name)
  if (existsSync(folder)) return folder
  return from === root ? undefined : installed(name, dirname(from), root)
}

/**
 * Folders of all packages that the compiled code and its device suite load, with those that they
 * load in turn.
 */
const runtimePackages = (root: string): readonly string[] => {
  const found = new Set<string>()
  const visit = (from: string, names: readonly string[], optional: boolean): void =>
    names.forEach((name) => {
      const folder = installed(name, from, root)
      if (folder === undefined) {
        if (optional) return
        throw new Error(`the package ${name} is not installed: run npm ci`)
      }
      if (found.has(folder)) return
      found.add(folder)
      const { dependencies = {}, optionalDependencies = {} } = makeManifest(folder)
      visit(
        folder,
        Object.keys(dependencies).filter((dependency) => !(dependency in optionalDependencies)),
        false
      )
      visit(folder, Object.keys(optionalDependencies), true)
    })
  visit(root, [...Object.keys(makeManifest(root).dependencies ?? {}), imageLibrary, ...testTools], false)
  return [...found]
}

/**
 * Copies what `runtimePackages` finds, without types, source maps and the packages nested in them,
 * each of which is one of its own.
 */
export const copyPackages = (root: string, target: string): void =>
  runtimePackages(root).forEach((folder) =>
    cpSync(folder, join(target, relative(root, folder)), {
      recursive: true,
      dereference: true,
      filter: (path) => !/\.(d\.[cm]?ts|map)$/.test(path) && !relative(folder, path).split('/').includes('node_modules')
    })
  )
