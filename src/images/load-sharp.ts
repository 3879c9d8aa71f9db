import type Sharp from 'sharp'

let loaded: typeof Sharp | undefined

/**
 * Loaded at first use: commands that read no image should not pay for the library's start. It may
 * keep nothing by a file's name, since another image may have that name the next time.
 */
export const loadSharp = (): typeof Sharp => {
  if (loaded === undefined) {
    loaded = require('sharp') as typeof Sharp
    loaded.cache(false)
  }
  return loaded
}
