import { copyFileSync, mkdirSync, realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { output } from './programs'

/** The C library is the machine's own, and none of another machine's. */
const ofTheSystem = /^(ld-linux|linux-vdso|lib(c|m|dl|rt|pthread)\.so)/

/** C++ runtimes, of which the newer one is taken, the machine's or the bundle's: all later versions do what earlier ones did. */
const runtimes = /^lib(stdc\+\+|gcc_s)\.so/

/** Shared libraries that files need, by the names under which they ask for them; a name that nothing answers throws. */
const needed = (files: readonly string[]): ReadonlyMap<string, string> =>
  new Map(
    files.flatMap((file) =>
      output('ldd', [file])
        .split('\n')
        .flatMap((line): readonly (readonly [string, string])[] => {
          const [, name, path] = /^\s*(\S+) => (.*?)(?: \(0x[0-9a-f]+\))?$/.exec(line) ?? []
          if (name === undefined || path === undefined || ofTheSystem.test(basename(name))) return []
          if (path === 'not found') throw new Error(`${file} needs ${name}, which this machine lacks`)
          return [[name, realpathSync(path)]]
        })
    )
  )

/** Copies what files need of this machine into `target`, and the C++ runtime into `target`/fallback. */
export const copySharedLibraries = (files: readonly string[], target: string): void => {
  mkdirSync(join(target, 'fallback'), { recursive: true })
  needed(files).forEach((path, name) => copyFileSync(path, join(target, runtimes.test(name) ? 'fallback' : '', name)))
}
