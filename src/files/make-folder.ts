import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

const errorCode = (thrown: unknown): string | undefined => (thrown as NodeJS.ErrnoException).code

/** Makes one folder, if it is not there; answers whether the folder that it is in is missing. */
const makeOne = async (path: string): Promise<'made' | 'homeless'> => {
  try {
    await mkdir(path)
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return 'homeless'
    if (errorCode(thrown) !== 'EEXIST') throw thrown
    if (!(await stat(path)).isDirectory()) throw new Error('it is no folder')
  }
  return 'made'
}

/**
 * Makes a folder and those that it is in. Node's own way never ends in /proc, which answers that a
 * new folder's own folder is missing.
 */
export const makeFolder = async (path: string): Promise<void> => {
  if ((await makeOne(path)) === 'made') return
  if (dirname(path) !== path) await makeFolder(dirname(path))
  if ((await makeOne(path)) === 'homeless') throw new Error('no folder can be made there')
}
