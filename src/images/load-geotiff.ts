import { createRequire } from 'node:module'
import type * as GeoTiff from 'geotiff'
import { decodeLzw } from './lzw'

type LzwParameters = ConstructorParameters<typeof GeoTiff.BaseDecoder>[0]
type LzwDirectory = GeoTiff.GeoTIFFImage['fileDirectory']

const findLzwParameters = async (directory: LzwDirectory): Promise<LzwParameters> => {
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

/** geotiff 3.0.5 decodes LZW for ever where data use the last of its codes, which are valid. */
const registerLzw = ({ BaseDecoder, addDecoder }: typeof GeoTiff): void => {
  class LzwDecoder extends BaseDecoder {
    override decodeBlock(block: ArrayBufferLike): ArrayBufferLike {
      const { tileWidth, tileHeight, planarConfiguration, bitsPerSample } = this.parameters
      const bits = bitsPerSample as readonly number[]
      const pixelBits = planarConfiguration === 1 ? bits.reduce((sum, one) => sum + one, 0) : Math.max(...bits)
      return decodeLzw(new Uint8Array(block), Math.ceil((tileWidth * pixelBits) / 8) * tileHeight).buffer
    }
  }
  addDecoder(5, () => Promise.resolve(LzwDecoder), findLzwParameters)
}

const load = (): typeof GeoTiff => {
  const module = createRequire(__filename)('geotiff') as typeof GeoTiff
  registerLzw(module)
  return module
}

let loaded: typeof GeoTiff | undefined

/** Loaded at first use, for images whose values are read as they are stored. */
export const loadGeoTiff = (): typeof GeoTiff => (loaded ??= load())
