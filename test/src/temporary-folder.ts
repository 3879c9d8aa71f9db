import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder of this process's own, gone when it ends. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tilefold-test-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
