import { homedir } from 'node:os'
import { join } from 'node:path'

/** Of what can be made again, for this user (XDG base directories). */
export const cacheFolder = (): string => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tilefold')
