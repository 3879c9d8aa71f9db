import type { ConvolutionKernel } from './kernels'

/** Tiles along an axis, by how many results they have. */
type Tiles = Readonly<Record<2 | 3 | 4, number>>

/** Of a dilation d each d-th result is of an axis of its own. */
const axesOf = (extent: number, dilation: number): readonly (readonly [results: number, axes: number])[] => {
  const fewest = Math.floor(extent / dilation)
  return [
    [fewest + 1, extent % dilation],
    [fewest, dilation - (extent % dilation)]
  ]
}

const wholeTiles = (results: number): Tiles => ({ 4: Math.ceil(results / 4), 3: 0, 2: 0 })

/** 5 are 3 and 2, since there is no tile of 1. */
const exactTiles = (results: number): Tiles => {
  const [whole, left] = [Math.floor(results / 4), results % 4]
  if (left === 1 && whole > 0) return { 4: whole - 1, 3: 1, 2: 1 }
  return { 4: whole, 3: left === 3 ? 1 : 0, 2: left === 1 || left === 2 ? 1 : 0 }
}

const tilesAlong = (extent: number, dilation: number, tilesOf: (results: number) => Tiles): Tiles =>
  axesOf(extent, dilation).reduce<Tiles>(
    (sum, [results, axes]) => {
      const tiles = tilesOf(results)
      return { 4: sum[4] + axes * tiles[4], 3: sum[3] + axes * tiles[3], 2: sum[2] + axes * tiles[2] }
    },
    { 4: 0, 3: 0, 2: 0 }
  )

const sizes = [4, 3, 2] as const
/** Tiles that are multiplied at once. */
const group = 6

/** Products of the tiles of so many images, which have 2 more along an axis than results. */
const productsOf = (images: number, rows: Tiles, columns: Tiles): number =>
  sizes
    .flatMap((height) => sizes.map((width) => [images * rows[height] * columns[width], (height + 2) * (width + 2)] as const))
    .reduce((sum, [tiles, products]) => sum + group * Math.ceil(tiles / group) * products, 0)

/**
 * Products of a pair of channels in a convolution by Winograd's F(4x4, 3x3) (Lavin 2016), with
 * smaller tiles where an image has fewer products by them (native/src/cpu/winograd_tiles.hpp).
 */
export const winogradProducts = (k: ConvolutionKernel): number => {
  const [height, width] = k.kind === 'convolutionBackwardData' ? [k.inHeight, k.inWidth] : [k.outHeight, k.outWidth]
  const [whole, exact] = [wholeTiles, exactTiles].map(
    (tilesOf) => (images: number) =>
      productsOf(images, tilesAlong(height, k.dilationHeight, tilesOf), tilesAlong(width, k.dilationWidth, tilesOf))
  )
  return (whole!(1) <= exact!(1) ? whole! : exact!)(k.batch)
}
