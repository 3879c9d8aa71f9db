/**
 * The folder of what can be made again, for this user (XDG base directories). In JavaScript, since
 * what loads TypeScript needs it too.
 */
export const cacheFolder: () => string
/** The user's own folder; the root where there is none. */
export const homeFolder: () => string
