import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { tilefold } from './tilefold'

/** What a driver of NVIDIA's brings: its device file, or that of WSL. */
const deviceFiles = ['/dev/nvidiactl', '/dev/dxg']

/**
 * Where the loader or a container's runtime keeps the driver's library, besides LD_LIBRARY_PATH.
 */
const driverFolders = ['/usr/lib/x86_64-linux-gnu', '/usr/lib64', '/usr/local/nvidia/lib64', '/usr/lib/wsl/lib']
const driver = 'libcuda.so.1'

const foldersSearched = (): readonly string[] => [
  ...(process.env.TILEFOLD_OUTER_LIBRARY_PATH ?? process.env.LD_LIBRARY_PATH ?? '').split(':').filter((folder) => folder !== ''),
  ...driverFolders
]

const either = (names: readonly string[]): string => names.join(' or ')

/**
 * Runs one small step on the device cuda: nothing, or one sentence on what is missing and where it
 * was looked for.
 */
export const gpuMissing = async (seconds: number): Promise<string | undefined> => {
  const step = ['bench', 'vgg11', '--classes', '2', '--device', 'cuda', '--input', '1x3x32x32', '--strategy', 'plain', '--steps', '1']
  const tried = await tilefold(t.type({ stepMs: t.readonlyArray(t.number) }), step, seconds)
  if (E.isRight(tried)) return undefined
  const said = `Tilefold's own device cuda says: "${tried.left.message}"`
  const device = deviceFiles.find((path) => existsSync(path))
  const folder = foldersSearched().find((path) => existsSync(join(path, driver)))
  if (device !== undefined && folder !== undefined)
    return `An NVIDIA GPU seems to be here (${device}, ${join(folder, driver)}), but it cannot be used: ${said}`
  const missing = [
    ...(device === undefined ? [`there is no ${either(deviceFiles)}`] : []),
    ...(folder === undefined ? [`there is no ${driver} in ${either(foldersSearched())}`] : [])
  ]
  return `No NVIDIA GPU was found: ${missing.join(', ')}; ${said}`
}
