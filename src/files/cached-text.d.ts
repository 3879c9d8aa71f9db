/**
 * The name of a text: all that makes it another one than those beside it, such as versions,
 * options, paths.
 */
export type Name = readonly unknown[]

/**
 * The text that was kept in this user's cache under a name, made from `source`. Undefined where
 * there is none, where it was made from something else, and where it is damaged.
 */
export const readCachedText: (name: Name, source: string) => string | undefined

/**
 * Keeps a text for later processes, in place of what had this name; a folder that cannot be written
 * keeps nothing.
 */
export const cacheText: (name: Name, source: string, text: string) => void
