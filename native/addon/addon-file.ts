import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { deviceError, type DeviceError } from './error'
import { chooseAddon, oldNode, prebuilts, type InstalledAddon, type Machine } from './prebuilt'

const requireHere = createRequire(__filename)

const manifestCodec = t.type({ name: t.literal('tilefold'), version: t.string, engines: t.type({ node: t.string }) })
type Manifest = t.TypeOf<typeof manifestCodec>

interface Package {
  readonly root: string
  readonly manifest: Manifest
}

/** What a bundler has put elsewhere finds neither the addon nor the files beside it. */
const bundled =
  `Tilefold does not run from within a bundle, as in ${__dirname}: leave the package tilefold out of it and install it beside it, ` +
  'with esbuild by --external:tilefold (docs/install.md)'

/** The package that a folder is in: sources and compiled code stand at different depths. */
const packageAround = (folder = __dirname): E.Either<string, Package> => {
  const path = join(folder, 'package.json')
  const manifest: unknown = existsSync(path) ? requireHere(path) : undefined
  if (manifestCodec.is(manifest)) return E.right({ root: folder, manifest })
  if (folder === dirname(folder)) return E.left(bundled)
  return packageAround(dirname(folder))
}

/** Enough for the first processor; the others are alike. */
const headBytes = 8192

/** The processor's flags as Linux tells them; undefined elsewhere. */
const instructions = (): readonly string[] | undefined => {
  try {
    const file = openSync('/proc/cpuinfo', 'r')
    try {
      const head = Buffer.alloc(headBytes)
      return /^flags\s*: (.*)$/m.exec(head.toString('latin1', 0, readSync(file, head)))?.[1]?.split(' ')
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}

const machine: Machine = { node: process.version, system: process.platform, processor: process.arch, instructions }

/** The folder of a package, where it is installed for Tilefold. */
const installedFolder = (name: string): string | undefined => {
  try {
    return dirname(requireHere.resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}

const versionCodec = t.type({ version: t.string })

const findAddon = (name: string): InstalledAddon | undefined => {
  const folder = installedFolder(name)
  if (folder === undefined) return undefined
  const manifest: unknown = requireHere(join(folder, 'package.json'))
  return versionCodec.is(manifest) ? { version: manifest.version, file: join(folder, 'tilefold.node') } : undefined
}

/** The folders of those packages with addons that are installed. */
export const addonFolders = (): readonly string[] =>
  prebuilts.flatMap(({ name }) => {
    const folder = installedFolder(name)
    return folder === undefined ? [] : [folder]
  })

const leastNode = ({ engines }: Manifest): string => engines.node.replace('>=', '')

/** Fails with code `missing` within a bundle, and where Node is too old for all else here. */
export const checkNode = (): E.Either<DeviceError, void> =>
  pipe(
    packageAround(),
    E.chain(({ manifest }) => {
      const old = oldNode(machine.node, leastNode(manifest))
      return old === undefined ? E.right(undefined) : E.left(old)
    }),
    E.mapLeft((sentence) => deviceError('missing', sentence))
  )

const ifExists = (path: string): string | undefined => (existsSync(path) ? path : undefined)

/**
 * The addon of this installation, or one sentence on why there is none. TILEFOLD_ADDON names
 * another build, such as the tests' with an emulated GPU (native/test/emulated_cuda).
 */
export const addonFile = (): E.Either<string, string> => {
  const named = process.env.TILEFOLD_ADDON
  if (named !== undefined) {
    const path = resolve(named)
    return existsSync(path)
      ? E.right(path)
      : E.left(`the native addon ${path}, which TILEFOLD_ADDON names, is not built: name another build, or unset the variable`)
  }
  return pipe(
    packageAround(),
    E.chain(({ root, manifest }) =>
      chooseAddon(machine, {
        version: manifest.version,
        minNode: leastNode(manifest),
        isClone: existsSync(join(root, 'src', 'packaging')),
        local: ifExists(join(root, 'native', 'build', 'Release', 'tilefold.node')),
        findAddon
      })
    )
  )
}
