import { createRequire } from 'node:module'
import type * as GeoTiff from 'geotiff'
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

const load = (): typeof GeoTiff => {
  const module = createRequire(__filename)('geotiff') as typeof GeoTiff
  registerDecoders(module)
  return module
}

let loaded: typeof GeoTiff | undefined

/** Loaded at first use, for images whose values are read as they are stored. */
export const loadGeoTiff = (): typeof GeoTiff => (loaded ??= load())
