/** A tile as far as fields of kernels say it. */
interface Sized {
  /** [B, C, H, W] */
  readonly extents: readonly number[]
}

/** A tile that a kernel reads, and the one that it writes. */
interface Tiles {
  readonly source: Sized
  readonly destination: Sized
}

interface Padding {
  readonly padBefore: number
  readonly padAfter: number
}

type Pair = readonly [number, number]

/** Fields with the sizes of the tiles that a kernel reads and writes, in pixels. */
export const extentFields = ({ source, destination }: Tiles) => ({
  batch: source.extents[0]!,
  inHeight: source.extents[2]!,
  inWidth: source.extents[3]!,
  outHeight: destination.extents[2]!,
  outWidth: destination.extents[3]!
})

/** The geometry of a sliding-window kernel on a tile. */
export const windowFields = (
  { kernel, stride, dilation }: { readonly kernel: Pair; readonly stride: Pair; readonly dilation: Pair },
  tiles: Tiles & { readonly rows: Padding; readonly columns: Padding }
) => ({
  inChannels: tiles.source.extents[1]!,
  kernelHeight: kernel[0],
  kernelWidth: kernel[1],
  strideHeight: stride[0],
  strideWidth: stride[1],
  dilationHeight: dilation[0],
  dilationWidth: dilation[1],
  padTop: tiles.rows.padBefore,
  padBottom: tiles.rows.padAfter,
  padLeft: tiles.columns.padBefore,
  padRight: tiles.columns.padAfter,
  ...extentFields(tiles)
})
