import { createRequire } from 'node:module'
import { join } from 'node:path'
import type Sharp from 'sharp'
import { addonFolders } from '../../native'

let loaded: typeof Sharp | undefined

/** Finds sharp as it is installed beside Tilefold, or else as the addon's package brings it. */
const findSharp = (): typeof Sharp => {
  const folders = [__dirname, ...addonFolders()]
  const found = folders.flatMap((folder) => {
    try {
      const requireThere = createRequire(join(folder, 'package.json'))
      return [{ requireThere, path: requireThere.resolve('sharp') }]
    } catch {
      return []
    }
  })
  const [first] = found
  if (first === undefined) throw new Error('the package sharp, which reads images, is not installed: run npm install sharp@0.35')
  return first.requireThere(first.path) as typeof Sharp
}

/**
 * Loaded at first use: commands that read no image should not pay for the library's start. It may
 * keep nothing by a file's name, since another image may have that name the next time.
 */
export const loadSharp = (): typeof Sharp => {
  if (loaded === undefined) {
    loaded = findSharp()
    loaded.cache(false)
  }
  return loaded
}
