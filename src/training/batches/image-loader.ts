import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image, ImageWindow } from '../../../native'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { type DecodedImage, computeUpscaledExtent } from '../../images/decode-image'
import type { Example } from '../../datasets/dataset'
import { type CropPlacement, extentInImage } from '../../images/crop-placement'
import { annotationCache, imageCache, maskCache } from '../../datasets/image-cache'
import type { ImageHeader } from '../../images/image-header'
import { type ImageSource, openImage } from '../../images/image-source'
import { readPixels } from '../../images/image-windows'
import type { ReadWindow } from '../../images/read-window'
import { isMask } from '../../datasets/labels'
import { cutMask, readMaskCut } from '../../datasets/masks/mask-crops'
import type { TiledMask } from '../../datasets/masks/mask-windows'
import { type ClassMap, type Mask, openMask } from '../../datasets/masks/masks'
import { type PolygonMap, paintWindow } from '../../datasets/annotations/paint-polygons'
import { ownPixels } from '../../images/raw-pixels'
import { type Extent2, extentText } from '../../images/resolution'
import { type Reading, colours, pixelBytes } from '../../images/samples'
import { heldBytes } from '../../running/read-ahead'
import { cropMask } from './crop-mask'

/** Where the crop of an image of some extent lies. */
export type PlaceCrop = (image: Extent2) => CropPlacement

/** Images and masks, each at least as large as the network's input, as steps take them. */
export interface ImageLoader {
  readonly image: (example: Example, place: PlaceCrop) => Outcome<Image>
  /** The classes of the crop, flipped and turned as its image is. */
  readonly classes: (example: Example, mask: Mask, place: PlaceCrop) => Outcome<Uint8Array>
  /** A loader of these images in crops of another size, one at a time. */
  readonly inCropsOf: (crop: Extent2) => ImageLoader
}

interface ImageLoaderOptions {
  readonly crop: Extent2
  readonly batch: number
  readonly rotate: boolean
  readonly resolution: Reading
  /** Bytes of the widest pixel; those of RGB where absent. */
  readonly pixelBytes?: number
}

/** The least size of an image into which a crop fits however it is turned. */
export const minExtent = ({ height, width }: Extent2, rotate: boolean): Extent2 =>
  rotate ? { height: Math.max(height, width), width: Math.max(height, width) } : { height, width }

/** Bytes of the crops of a step and of the one ahead; larger ones are read while a step runs. */
const maxCropBytes = 2 ** 28

type CropBytes = Pick<ImageLoaderOptions, 'crop' | 'batch' | 'pixelBytes'>

/** Bytes of the crops of two steps; undefined where they are read while a step runs. */
const bufferedBytes = ({ crop, batch, pixelBytes: each = pixelBytes(colours) }: CropBytes): number | undefined => {
  const bytes = 2 * batch * crop.height * crop.width * each
  return bytes <= maxCropBytes ? bytes : undefined
}

/**
 * Host memory that crops take which are read by window: those of two steps, or the windows of one
 * and the one behind them.
 */
export const cropCacheBytes = (options: CropBytes): number => bufferedBytes(options) ?? heldBytes

const changedFailure = (what: string, mask: Mask): Failure =>
  inputFailure(`${what} is not of the size ${extentText(mask)} any more: leave files as they are while they are trained on`)

/** A file that has another size by now would belong to other pixels. */
const checkSize =
  (what: string, mask: Mask, wanted: Extent2) =>
  <F extends Extent2>(found: F): E.Either<Failure, F> =>
    found.height === wanted.height && found.width === wanted.width ? E.right(found) : E.left(changedFailure(what, mask))

const checkLevels =
  ({ path, label }: Example) =>
  (source: ImageSource): E.Either<Failure, ImageSource> =>
    !isMask(label) || source.header.levels.some((level) => extentText(level) === extentText(label))
      ? E.right(source)
      : E.left(changedFailure(`the image ${path}`, label))

/** What succeeds is kept; what fails may be tried again. */
const memoize = <A>(find: (path: string) => Outcome<A>): ((path: string) => Outcome<A>) => {
  const found = new Map<string, A>()
  return (path) => async () => {
    const known = found.get(path)
    if (known !== undefined) return E.right(known)
    const now = await find(path)()
    if (E.isRight(now)) found.set(path, now.right)
    return now
  }
}

/** An image as steps see it: enlarged where it is smaller than the crop. */
interface SeenImage {
  readonly extent: Extent2
  readonly header: ImageHeader
  /** Absent of one that is decoded whole: it has no tiles, or is enlarged. */
  readonly read?: ReadWindow
}

/** Loads crops of images and masks for steps; keeps what is decoded for the steps that follow. */
export const createImageLoader = ({ crop, batch, rotate, resolution, pixelBytes: each }: ImageLoaderOptions): ImageLoader => {
  const least = minExtent(crop, rotate)
  const [wholeImage, wholeMask, polygons] = [imageCache(least, undefined, resolution), maskCache(), annotationCache()]
  const opened = memoize((path) => openImage(path, resolution))
  const openedMask = memoize((path) => TE.map((tiled: TiledMask | undefined) => ({ tiled }))(openMask(path)))
  const seen = (example: Example): Outcome<SeenImage> =>
    pipe(
      opened(example.path),
      TE.chainEitherK(checkLevels(example)),
      TE.chainEitherK(({ header, read }) =>
        pipe(
          computeUpscaledExtent(`the image ${example.path}`, header, least),
          E.filterOrElse(
            (extent) => extent === header || header.samples.bands === undefined,
            () =>
              inputFailure(
                `the image ${example.path} is ${extentText(header)}, smaller than a crop of ${extentText(least)}: take a smaller --crop`
              )
          ),
          E.map((extent) => ({ extent, header, ...(read && extent === header ? { read } : {}) }))
        )
      )
    )

  const windowOf = (placement: CropPlacement, crop: Extent2): ImageWindow => {
    const { cropTop, cropLeft } = placement
    return { top: cropTop, left: cropLeft, ...extentInImage(crop, placement) }
  }

  const cutImage = ({ extent, header }: SeenImage, readWindow: ReadWindow, placement: CropPlacement, of: CropBytes): Outcome<Image> => {
    const { height, width } = extent
    const { channels, elementType } = header.samples
    if (bufferedBytes(of) === undefined)
      return TE.right({ pixels: readPixels(header, readWindow), height, width, channels, elementType, ...placement })
    const window = windowOf(placement, of.crop)
    return TE.map((pixels: Uint8Array): Image => ({
      pixels: ownPixels(pixels),
      isHandedOver: true,
      height: window.height,
      width: window.width,
      channels,
      elementType,
      ...placement,
      cropTop: 0,
      cropLeft: 0
    }))(readWindow(window))
  }

  /** Labelled images may be replaced while they are trained on; those with masks lie under them. */
  const decodedWhole = ({ path, label }: Example, extent: Extent2): Outcome<DecodedImage> =>
    isMask(label) ? TE.chainEitherK(checkSize(`the image ${path}`, label, extent))(wholeImage(path)) : wholeImage(path)

  const checkedMask = (mask: Mask): Outcome<ClassMap> =>
    TE.chainEitherK(checkSize(`the mask ${mask.path}`, mask, mask))(wholeMask(mask.path))

  const cutPixels = (mask: Mask, extent: Extent2, window: ImageWindow): Outcome<ClassMap> =>
    pipe(
      openedMask(mask.path),
      TE.chain(({ tiled }) =>
        tiled === undefined
          ? TE.map((whole: ClassMap) => cutMask(whole, extent, window))(checkedMask(mask))
          : pipe(
              TE.fromEither(checkSize(`the mask ${mask.path}`, mask, mask)(tiled)),
              TE.chain((fitting) => readMaskCut(fitting, extent, window))
            )
      )
    )

  const cutPolygons = (mask: Mask, extent: Extent2, window: ImageWindow): Outcome<ClassMap> =>
    TE.map((map: PolygonMap): ClassMap => ({ ...window, pixels: paintWindow(map, extent, window) }))(polygons(mask))

  const loaderOf = (of: CropBytes): ImageLoader => ({
    image: (example, place) =>
      pipe(
        seen(example),
        TE.chain((image) =>
          image.read === undefined
            ? TE.map((whole: DecodedImage): Image => ({ ...whole, ...place(whole) }))(decodedWhole(example, image.extent))
            : cutImage(image, image.read, place(image.extent), of)
        )
      ),
    classes: (example, mask, place) =>
      pipe(
        seen(example),
        TE.chain(({ extent }) => {
          const placement = place(extent)
          return TE.map((cut: ClassMap) => cropMask(cut, { ...placement, cropTop: 0, cropLeft: 0 }, of.crop))(
            (mask.annotation === undefined ? cutPixels : cutPolygons)(mask, extent, windowOf(placement, of.crop))
          )
        })
      ),
    inCropsOf: (other) => loaderOf({ ...of, crop: other, batch: 1 })
  })
  return loaderOf({ crop, batch, ...(each === undefined ? {} : { pixelBytes: each }) })
}
