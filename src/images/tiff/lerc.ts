/** What the package lerc, which geotiff brings, decodes: planes of pixels, and which are there. */
interface LercBlock {
  readonly pixels: readonly (ArrayLike<number> & Readonly<Pick<Uint8Array<ArrayBuffer>, 'buffer' | 'byteOffset' | 'byteLength'>>)[]
  /** 1 of pixels that hold something; null where all do. */
  readonly mask?: Uint8Array | null
  /** Values of a pixel, one after the other. */
  readonly dimCount?: number
}

/** The part of that package that is used. */
export interface Lerc {
  readonly decode: (data: ArrayBufferLike, options: { readonly returnPixelInterleavedDims: true }) => LercBlock
}

/** Whether a block is one plane of LERC 2 of its own length: others may be read for ever. */
const isOnePlane = (block: Buffer): boolean => {
  if (block.length < 66 || block.toString('latin1', 0, 6) !== 'Lerc2 ') return false
  const version = block.readInt32LE(6)
  const sizeAt = 26 + (version >= 3 ? 4 : 0) + (version >= 4 ? 4 : 0)
  return block.readInt32LE(sizeAt) === block.length
}

/**
 * What a block of LERC holds, as GDAL and libtiff store it: floats that are no number, and
 * transparency that is 0 or 255, are no values there, but a mask. Damaged data throw.
 */
export const decodeLerc = ({ decode }: Lerc, data: ArrayBufferLike, channels: number): Uint8Array<ArrayBuffer> => {
  if (!isOnePlane(Buffer.from(data))) throw new Error('its LERC data are not as long as they say, or no single plane')
  const { pixels, mask, dimCount = 1 } = decode(data, { returnPixelInterleavedDims: true })
  const [values, ...others] = pixels
  const isAlphaMasked = values instanceof Uint8Array && dimCount === channels - 1
  if (values === undefined || others.length > 0 || (dimCount !== channels && !isAlphaMasked))
    throw new Error(`its LERC data have ${dimCount * pixels.length} values a pixel instead of ${channels}`)
  if (isAlphaMasked)
    return Uint8Array.from({ length: (values.length / dimCount) * channels }, (_, at) => {
      const [pixel, channel] = [Math.floor(at / channels), at % channels]
      return channel < dimCount ? values[pixel * dimCount + channel]! : mask?.[pixel] === 0 ? 0 : 255
    })
  if (mask && values instanceof Float32Array)
    for (let at = 0; at < values.length; at += 1) if (mask[Math.floor(at / dimCount)] === 0) values[at] = NaN
  // Bytes that are not packed are a part of the data themselves.
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice()
}
