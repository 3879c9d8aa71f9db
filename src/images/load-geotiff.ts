import { createRequire } from 'node:module'
import type * as GeoTiff from 'geotiff'
import { type Lerc, decodeLerc } from './lerc'
import { decodeLzw } from './lzw'
import { decodePackBits } from './pack-bits'

type Parameters = ConstructorParameters<typeof GeoTiff.BaseDecoder>[0]
type Directory = GeoTiff.GeoTIFFImage['fileDirectory']

const findParameters = async (directory: Directory): Promise<Parameters> => {
  const isTiled = directory.hasTag('TileWidth')
  const height = Number(await directory.loadValue('ImageLength'))
  return {
    tileWidth: Number(await directory.loadValue(isTiled ? 'TileWidth' : 'ImageWidth')),
    // A file of one strip may say that it has 2³² - 1 rows.
    tileHeight: isTiled
      ? Number(await directory.loadValue('TileLength'))
      : Math.min(Number((await directory.loadValue('RowsPerStrip')) ?? height), height),
    planarConfiguration: Number((await directory.loadValue('PlanarConfiguration')) ?? 1),
    bitsPerSample: [...((await directory.loadValue('BitsPerSample')) as ArrayLike<number> & Iterable<number>)],
    predictor: Number((await directory.loadValue('Predictor')) ?? 1)
  }
}

/** Bytes of a tile or a whole strip. */
const blockBytes = ({ tileWidth, tileHeight, planarConfiguration, bitsPerSample }: Parameters): number => {
  const bits = bitsPerSample as readonly number[]
  const pixelBits = planarConfiguration === 1 ? bits.reduce((sum, one) => sum + one, 0) : Math.max(...bits)
  return Math.ceil((tileWidth * pixelBits) / 8) * tileHeight
}

/** Decodes the data of a tile or strip, at most so many bytes. */
type Decode = (data: Uint8Array, limit: number) => Uint8Array<ArrayBuffer>

/**
 * What geotiff 3.0.5 decodes otherwise: LZW for ever where data use the last of its codes, which
 * are valid, and of PackBits the header that stands for nothing as a run.
 */
const ownDecoders: readonly (readonly [compression: number, decode: Decode])[] = [
  [5, decodeLzw],
  [32773, decodePackBits]
]

const registerDecoders = ({ BaseDecoder, addDecoder }: typeof GeoTiff): void => {
  for (const [compression, decode] of ownDecoders) {
    class Decoder extends BaseDecoder {
      override decodeBlock(block: ArrayBufferLike): ArrayBufferLike {
        return decode(new Uint8Array(block), blockBytes(this.parameters)).buffer
      }
    }
    addDecoder(compression, () => Promise.resolve(Decoder), findParameters)
  }
}

/** LERC, and by what its data may be compressed once more: nothing, deflate or zstd. */
const [lercMethod, compressedBy] = [34887, [undefined, 8, 50000]] as const

/**
 * geotiff 3.0.5 hands out LERC's own data for bytes that are not packed in them, 0 where there is
 * no number, and no transparency.
 */
const registerLerc = ({ BaseDecoder, addDecoder, getDecoder }: typeof GeoTiff, lerc: Lerc): void => {
  type LercParameters = Parameters & { readonly method: number | undefined }
  class LercDecoder extends BaseDecoder {
    override async decodeBlock(block: ArrayBufferLike): Promise<ArrayBufferLike> {
      const { method, planarConfiguration, bitsPerSample } = this.parameters as LercParameters
      const data = method === undefined ? block : await (await getDecoder(method, this.parameters)).decodeBlock(block)
      return decodeLerc(lerc, data, planarConfiguration === 1 ? (bitsPerSample as readonly number[]).length : 1).buffer
    }
  }
  addDecoder(
    lercMethod,
    () => Promise.resolve(LercDecoder),
    async (directory): Promise<LercParameters> => {
      const [, further = 0] = ((await directory.loadValue('LercParameters')) ?? []) as ArrayLike<number> & Iterable<number>
      return { ...(await findParameters(directory)), method: compressedBy[further] }
    }
  )
}

const load = (): typeof GeoTiff => {
  const requireHere = createRequire(__filename)
  const module = requireHere('geotiff') as typeof GeoTiff
  registerDecoders(module)
  registerLerc(module, createRequire(requireHere.resolve('geotiff'))('lerc') as Lerc)
  return module
}

let loaded: typeof GeoTiff | undefined

/** Loaded at first use, for images whose values are read as they are stored. */
export const loadGeoTiff = (): typeof GeoTiff => (loaded ??= load())
