import { open } from 'node:fs/promises'

/** The first bytes of a file, at most so many; rejects where it cannot be opened or read. */
export const readFileStart = async (path: string, mostBytes: number): Promise<Buffer> => {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostBytes), 0, mostBytes, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
