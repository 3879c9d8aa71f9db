import type { FileHandle } from 'node:fs/promises'
import * as yauzl from 'yauzl'
import { readBytes } from './file-bytes'

/** A part of a file. */
export interface ByteRange {
  /** First byte in the file. */
  readonly offset: number
  readonly bytes: number
}

/** Where the data of an entry stand in a zip file; found when asked for. */
export type EntryRange = () => Promise<ByteRange>

const storedMethod = 0

/** A state dict has an entry a tensor; each takes its time to find. */
const maxEntries = 200_000

/** yauzl's own throws where nobody catches it, if a damaged file points beyond 2^53. */
class FileReader extends yauzl.RandomAccessReader {
  constructor(private readonly file: FileHandle) {
    super()
  }

  override read(buffer: Buffer, offset: number, length: number, position: number, callback: (fault: Error | null) => void): void {
    const reading = Number.isSafeInteger(position)
      ? readBytes(this.file, position, buffer.subarray(offset, offset + length))
      : Promise.reject(new Error('it points beyond its end'))
    reading.then(() => callback(null), callback)
  }
}

const rangeIn =
  (zip: yauzl.ZipFile, entry: yauzl.Entry): EntryRange =>
  async () => {
    if (entry.compressionMethod !== storedMethod) throw new Error(`its ${entry.fileName} is compressed, as torch.save does not`)
    const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true })
    if (fileDataStart + entry.uncompressedSize > zip.fileSize) throw new Error(`its ${entry.fileName} reaches beyond the file`)
    return { offset: fileDataStart, bytes: entry.uncompressedSize }
  }

/**
 * Calls `use` with the entries of an open zip file by name, none of which is read. Throws where it
 * is no whole zip file, or has a name twice.
 */
export const withZipEntries = async <A>(file: FileHandle, use: (entries: ReadonlyMap<string, EntryRange>) => Promise<A>): Promise<A> => {
  const zip = await yauzl.fromRandomAccessReaderPromise(new FileReader(file), (await file.stat()).size, { autoClose: false })
  try {
    if (zip.entryCount > maxEntries) throw new Error(`it says that it has ${zip.entryCount} entries, over the ${maxEntries} that are read`)
    const entries = new Map<string, EntryRange>()
    for await (const entry of zip.eachEntry()) {
      if (entries.has(entry.fileName)) throw new Error(`it has ${entry.fileName} twice`)
      entries.set(entry.fileName, rangeIn(zip, entry))
    }
    return await use(entries)
  } finally {
    zip.close()
  }
}
