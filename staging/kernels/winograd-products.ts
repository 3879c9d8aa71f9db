import { isTransformed, layoutCode, layouts, tileOf, transformedFor, weightElements, type LargestTile } from './layout'
import type { ConvolutionKernel } from './kernels'

/** How many tiles of so many results an axis has. */
type Tiles = ReadonlyMap<number, number>

/** Of a dilation d each d-th result is of an axis of its own. */
const axesOf = (extent: number, dilation: number): readonly (readonly [results: number, axes: number])[] => {
  const fewest = Math.floor(extent / dilation)
  return [
    [fewest + 1, extent % dilation],
    [fewest, dilation - (extent % dilation)]
  ]
}

/** The results of the tiles of an axis. */
type Cut = (results: number, largest: LargestTile) => readonly (readonly [size: number, tiles: number])[]

const wholeTiles: Cut = (results, largest) => [[largest, Math.ceil(results / largest)]]

/** One is never left, since there is no tile of 1. */
const exactTiles: Cut = (results, largest) => {
  const [whole, left] = [Math.floor(results / largest), results % largest]
  if (left !== 1 || whole === 0) return [[largest, whole], ...(left === 0 ? [] : [[Math.max(2, left), 1] as const])]
  return [
    [largest, whole - 1],
    [largest - 1, 1],
    [2, 1]
  ]
}

const tilesAlong = (extent: number, dilation: number, largest: LargestTile, cut: Cut): Tiles => {
  const tiles = new Map<number, number>()
  for (const [results, axes] of axesOf(extent, dilation))
    for (const [size, count] of cut(results, largest)) tiles.set(size, (tiles.get(size) ?? 0) + axes * count)
  return tiles
}

/** Tiles that are multiplied at once. */
const group = 6

/** Products of the tiles of so many images, which have 2 more along an axis than results. */
const productsOf = (images: number, rows: Tiles, columns: Tiles): number => {
  let sum = 0
  for (const [height, down] of rows)
    for (const [width, across] of columns) sum += group * Math.ceil((images * down * across) / group) * (height + 2) * (width + 2)
  return sum
}

/** Results of a convolution of 3x3 taps, or the gradient of its source. */
interface Results {
  readonly batch: number
  readonly height: number
  readonly width: number
  readonly dilation: readonly [number, number]
}

/**
 * Products of a pair of channels in a convolution by Winograd (Lavin 2016), whose smaller tiles are
 * taken where an image has fewer products by them (native/src/cpu/winograd/tiles.hpp).
 */
const tileProducts = ({ batch, height, width, dilation }: Results, largest: LargestTile): number => {
  const [whole, exact] = [wholeTiles, exactTiles].map((cut) => {
    const [rows, columns] = [tilesAlong(height, dilation[0], largest, cut), tilesAlong(width, dilation[1], largest, cut)]
    return (images: number) => productsOf(images, rows, columns)
  })
  return (whole!(1) <= exact!(1) ? whole! : exact!)(batch)
}

/**
 * The whole tiles that a kernel by Winograd works by: its weights are transformed for them, or it
 * takes the smaller ones where it transforms them itself; a gradient of weights takes those by
 * which an image has fewer products (native/src/cpu/winograd/winograd.cpp).
 */
export const largestTile = (k: ConvolutionKernel): LargestTile => {
  const layout = layouts[k.weightLayout]!
  if (isTransformed(layout)) return tileOf(layout)
  if (k.kind !== 'convolutionBackwardWeights') return 4
  const image = { ...resultsOf(k), batch: 1 }
  return tileProducts(image, 6) < tileProducts(image, 4) ? 6 : 4
}

const resultsOf = (k: ConvolutionKernel): Results => {
  const [height, width] = k.kind === 'convolutionBackwardData' ? [k.inHeight, k.inWidth] : [k.outHeight, k.outWidth]
  return { batch: k.batch, height, width, dilation: [k.dilationHeight, k.dilationWidth] }
}

/** Products of a pair of channels in a kernel by Winograd, which works by such tiles. */
export const winogradProducts = (k: ConvolutionKernel, largest: LargestTile): number => tileProducts(resultsOf(k), largest)

/**
 * Tells whether a kernel by Winograd reads weights as they are stored: it transforms them itself.
 */
export const readsStoredWeights = (k: ConvolutionKernel): boolean =>
  k.algorithm === 1 && k.kind !== 'convolutionBackwardWeights' && !isTransformed(layouts[k.weightLayout]!)

/** The kernel as tiles run it: by Winograd its weights are transformed beforehand. */
export const asInTiles = (k: ConvolutionKernel): ConvolutionKernel => {
  if (!readsStoredWeights(k)) return k
  const { forward, backward } = transformedFor(4, 4)
  return { ...k, weightLayout: layoutCode(k.kind === 'convolutionForward' ? forward : backward) }
}

/** Transformed weights that are at most this share of activations take little time and memory. */
const fewWeights = 1 / 4

/**
 * The whole tiles to take for a convolution of such results, or for the gradient of its source.
 * Larger ones have fewer products, but nearly twice the transformed weights.
 */
export const chooseTile = (results: Results, inChannels: number, outChannels: number): LargestTile => {
  const weights = weightElements('winograd6Forward', [outChannels, inChannels, 3, 3], 1)
  const activations = results.batch * results.height * results.width * (inChannels + outChannels)
  return weights <= fewWeights * activations && tileProducts(results, 6) < tileProducts(results, 4) ? 6 : 4
}
