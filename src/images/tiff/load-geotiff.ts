import { createRequire } from 'node:module'
import { inflateSync } from 'node:zlib'
import type * as GeoTiff from 'geotiff'
import { type Lerc, decodeLerc } from './lerc'
import { decodeLzw } from './lzw'
import { decodePackBits } from './pack-bits'
import { createZstdDecoder, type Zstd } from './zstd'

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

/**
 * Bytes that a tile or strip may hold at most where more than these are refused: some writers leave
 * more than they should, and LERC's own data may be longer than what they stand for.
 */
const mostBytes = (parameters: Parameters): number => 2 * blockBytes(parameters) + 2 ** 16

/** Decodes the data of a tile or strip. */
type Decode = (data: Uint8Array, parameters: Parameters) => Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>

const inflate: Decode = (data, parameters) => new Uint8Array(inflateSync(data, { maxOutputLength: mostBytes(parameters) }))

/**
 * What geotiff 3.0.5 decodes otherwise: LZW for ever where data use the last of its codes, which
 * are valid; of PackBits the header that stands for nothing as a run; of deflate and zstd however
 * much damaged data hold, and of zstd for ever where they end too soon.
 */
const ownDecoders = (zstd: Zstd): readonly (readonly [compressions: number[], decode: Decode])[] => {
  const decodeZstd = createZstdDecoder(zstd)
  return [
    [[5], (data, parameters) => decodeLzw(data, blockBytes(parameters))],
    [[32773], (data, parameters) => decodePackBits(data, blockBytes(parameters))],
    [[8, 32946], inflate],
    [[50000], (data, parameters) => decodeZstd(data, mostBytes(parameters))]
  ]
}

const registerDecoders = ({ BaseDecoder, addDecoder }: typeof GeoTiff, zstd: Zstd): void => {
  for (const [compressions, decode] of ownDecoders(zstd)) {
    class Decoder extends BaseDecoder {
      override async decodeBlock(block: ArrayBufferLike): Promise<ArrayBufferLike> {
        return (await decode(new Uint8Array(block), this.parameters)).buffer
      }
    }
    addDecoder(compressions, () => Promise.resolve(Decoder), findParameters)
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
  const requireThere = createRequire(requireHere.resolve('geotiff'))
  registerDecoders(module, requireThere('zstddec') as Zstd)
  registerLerc(module, requireThere('lerc') as Lerc)
  return module
}

let loaded: typeof GeoTiff | undefined

/** Loaded at first use, for images whose values are read as they are stored. */
export const loadGeoTiff = (): typeof GeoTiff => (loaded ??= load())
