import { fsync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { promisify } from 'node:util'

/**
 * Flushes an open file, or folder, to the disk; rejects with the system's error. Under Yarn's
 * Plug'n'Play a FileHandle's own `sync` throws.
 */
export const syncFile = ({ fd }: FileHandle): Promise<void> => promisify(fsync)(fd)
