import * as E from 'fp-ts/Either'

/** A package that brings the addon ready-made, and the machines that it runs on. */
interface Prebuilt {
  readonly name: string
  /** System and processor as Node calls them: process.platform and process.arch. */
  readonly system: string
  readonly processor: string
  /**
   * Instructions that the addon's code needs of a processor, as Linux calls them in /proc/cpuinfo.
   */
  readonly instructions: readonly string[]
}

/** x86-64-v3: Intel since 2013, AMD since 2015. */
const haswell = ['avx2', 'bmi2', 'f16c', 'fma']

/**
 * All that there are; of several for a machine the first that is installed is taken, and the last
 * is enough.
 */
export const prebuilts = [
  { name: '@tilefold/linux-x64-cuda', system: 'linux', processor: 'x64', instructions: haswell },
  { name: '@tilefold/linux-x64', system: 'linux', processor: 'x64', instructions: haswell },
  { name: '@tilefold/linux-arm64', system: 'linux', processor: 'arm64', instructions: [] }
] as const satisfies readonly Prebuilt[]

/** The facts of a machine on which the choice of an addon depends. */
export interface Machine {
  /** Node's version, as process.version has it. */
  readonly node: string
  readonly system: string
  readonly processor: string
  /** Instructions of the processor; undefined where the system does not say. */
  readonly instructions: () => readonly string[] | undefined
}

/** A package with an addon that is installed. */
export interface InstalledAddon {
  readonly version: string
  readonly file: string
}

/** The facts of an installation on which the choice of an addon depends. */
export interface Installation {
  readonly version: string
  /** The oldest Node that is served, such as 20.17. */
  readonly minNode: string
  /** True if it is a clone of the repository, where the addon is built. */
  readonly isClone: boolean
  /** The addon that was built here. */
  readonly local: string | undefined
  /** The package of this name. */
  readonly findAddon: (name: string) => InstalledAddon | undefined
}

/** Words on how to get an addon where no package brings one. */
const buildRemedy = 'build it here with npm install cmake-js@8 node-addon-api@8 sharp@0.35 and npx tilefold-build (docs/install.md)'

/**
 * Words on how to get the addon of a package: from the file that npm packs, since the registry has
 * none.
 */
const installRemedy = (name: string, version: string): string =>
  `run npm install ./${name.replace('@', '').replace('/', '-')}-${version}.tgz`

const numbers = (version: string): readonly number[] => version.replace(/^v/, '').split('.').map(Number)

const isOlder = (version: string, least: string): boolean => {
  const [major = 0, minor = 0] = numbers(version)
  const [minMajor = 0, minMinor = 0] = numbers(least)
  return major < minMajor || (major === minMajor && minor < minMinor)
}

/** One sentence where Node is older than what is served; undefined where it is not. */
export const oldNode = (node: string, minNode: string): string | undefined =>
  isOlder(node, minNode) ? `Tilefold needs Node ${minNode} or newer, and this is ${node}: install one from https://nodejs.org` : undefined

/** The addon to load, or one sentence on why there is none and what to do. */
export const chooseAddon = (machine: Machine, installation: Installation): E.Either<string, string> => {
  const { version, minNode, isClone, local, findAddon } = installation
  const old = oldNode(machine.node, minNode)
  if (old !== undefined) return E.left(old)
  const place = `${machine.system}-${machine.processor}`
  const fitsMachine = ({ system, processor }: Prebuilt): boolean => system === machine.system && processor === machine.processor
  const missingInstructions = ({ instructions }: Prebuilt): readonly string[] => {
    const known = instructions.length === 0 ? undefined : machine.instructions()
    return known === undefined ? [] : instructions.filter((one) => !known.includes(one))
  }
  const installed = prebuilts.flatMap((one) => {
    const addon = findAddon(one.name)
    return addon === undefined ? [] : [{ ...one, ...addon }]
  })
  const meant = installed.filter(fitsMachine)
  const fitting = meant.find((one) => one.version === version && missingInstructions(one).length === 0)
  const found = fitting?.file ?? local
  if (found !== undefined) return E.right(found)
  if (isClone) return E.left('the native addon is not built: build it with "npm run build"')
  const [unfit] = meant
  if (unfit !== undefined && unfit.version !== version)
    return E.left(`${unfit.name} ${unfit.version} is installed, but this is tilefold ${version}: ${installRemedy(unfit.name, version)}`)
  if (unfit !== undefined)
    return E.left(
      `${unfit.name} needs a processor with ${unfit.instructions.join(', ')} (Intel since 2013, AMD since 2015), ` +
        `and this one lacks ${missingInstructions(unfit).join(', ')}: take another machine`
    )
  const plain = prebuilts.filter(fitsMachine).at(-1)
  if (plain === undefined) return E.left(`there is no prebuilt addon for ${place}: ${buildRemedy}`)
  const [other] = installed
  return E.left(
    other === undefined
      ? `the native addon is not installed: ${installRemedy(plain.name, version)}, or ${buildRemedy}`
      : `${other.name} is installed, but this machine is ${place}: ${installRemedy(plain.name, version)}`
  )
}

/**
 * Turns the message of the loader of shared libraries about an addon into a sentence that says what
 * to do.
 */
export const loadFailure = (addon: string, said: string): string => {
  const [, library, needed] = /version [`'](GLIBC(?:XX)?)_([\d.]+)' not found/.exec(said) ?? []
  if (library !== undefined)
    return (
      `the native addon ${addon} needs ${library === 'GLIBC' ? 'glibc' : 'a libstdc++ with GLIBCXX'} ${needed} or newer, ` +
      `and this system's is older: take a newer system, or ${buildRemedy}`
    )
  if (/ld-linux|Error loading shared library|Error relocating/.test(said))
    return `the native addon ${addon} is built for glibc, and this system has another C library: take one with glibc, or ${buildRemedy}`
  const [, lacking] = /^(lib[^\s:/]+): cannot open shared object file/.exec(said) ?? []
  if (lacking !== undefined) return `the native addon ${addon} needs ${lacking}, which this system lacks: install it, or ${buildRemedy}`
  // The loader passes a file over that is for another processor, as if it were not there.
  if (/\.node: cannot open shared object file|invalid ELF header|wrong ELF class|not a mach-o|slice is not valid|Exec format/i.test(said))
    return `the native addon ${addon} is for another kind of processor or system: install the one for this machine, or ${buildRemedy}`
  if (/loading addons is disabled/.test(said))
    return `the native addon ${addon} may not be loaded in this process: start Node with --allow-addons where it has --permission, and without --no-addons`
  return `the native addon ${addon} cannot be loaded (${said.split('\n')[0]}): install it again, or ${buildRemedy}`
}
