/** What is used of the package zstddec. */
export interface Zstd {
  readonly ZSTDDecoder: new () => {
    readonly init: () => Promise<void>
    readonly decode: (data: Uint8Array, most: number) => Uint8Array<ArrayBuffer>
  }
}

/**
 * Decodes zstd's frames that hold at most so many bytes. Throws where they are damaged or hold
 * more: the package's reading in pieces, and by the size that the data say, may go on for ever.
 */
export const createZstdDecoder = ({ ZSTDDecoder }: Zstd): ((data: Uint8Array, most: number) => Promise<Uint8Array<ArrayBuffer>>) => {
  const decoder = new ZSTDDecoder()
  return async (data, most) => {
    await decoder.init()
    const decoded = decoder.decode(data, most)
    // Of an error it answers with nothing.
    if (decoded.length === 0) throw new Error(`its zstd data are damaged, or hold more than ${most} bytes`)
    return decoded
  }
}
