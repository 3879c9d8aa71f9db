import { extname, join } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { folderFailure, listEntries } from './class-folders'
import { type CsvExample, maskExtensions } from './dataset-csv'
import { isHidden } from './image-names'
import { wholeImages } from './slide-parts'

/** What folders of images, and of their masks, are called, in small letters. */
const imageFolders: readonly string[] = ['images', 'image', 'imgs', 'img', 'jpegimages', 'img_dir']
const maskFolders: readonly string[] = ['masks', 'mask', 'labels', 'label', 'annotations', 'segmentationclass', 'ann_dir']

/** What names of masks may have behind the image's. */
const suffixes = ['', '_mask', '-mask', '.mask', '_label', '-label', '.label'] as const

const fileStem = (name: string): string => name.slice(0, name.length - extname(name).length)
const isMaskName = (name: string): boolean => !isHidden(name) && maskExtensions.includes(extname(name).toLowerCase())

interface Pair {
  readonly images: string
  readonly masks: string
}

/** The two folders; a sentence where others stand beside, undefined where one is not there. */
const findPair = (path: string, folders: readonly string[]): Pair | string | undefined => {
  const seen = folders.filter((name) => !isHidden(name))
  const images = seen.find((name) => imageFolders.includes(name.toLowerCase()))
  const masks = seen.find((name) => maskFolders.includes(name.toLowerCase()))
  if (images === undefined || masks === undefined) return undefined
  const other = seen.find((name) => name !== images && name !== masks)
  return other === undefined
    ? { images, masks }
    : `${path} has ${other} beside ${images} and ${masks}, which must stand alone: move it elsewhere, or name images and masks in a CSV file`
}

/** The folder of images in a folder that has one of masks beside it alone; undefined of others. */
export const findImageFolder = async (path: string): Promise<string | undefined> => {
  const pair = findPair(path, (await listEntries(path)).folders)
  return typeof pair === 'object' ? join(path, pair.images) : undefined
}

/** Pairs images and masks by their names, or says in a sentence which has none or several. */
const pairUp = (
  path: string,
  { images, masks }: Pair,
  imageNames: readonly string[],
  maskNames: readonly string[]
): readonly CsvExample[] | string => {
  const rows: CsvExample[] = []
  const taken = new Set<string>()
  const masksByStem = new Map<string, string[]>()
  for (const name of maskNames) masksByStem.set(fileStem(name), [...(masksByStem.get(fileStem(name)) ?? []), name])
  for (const name of imageNames) {
    const stem = fileStem(name)
    const found = suffixes.flatMap((suffix) => masksByStem.get(`${stem}${suffix}`) ?? []).sort()
    const [mask, other] = found
    if (mask === undefined)
      return `${join(path, images, name)} has no mask in ${join(path, masks)}: add ${stem}.png there, or leave the image out`
    if (other !== undefined) return `${join(path, images, name)} has the masks ${found.join(' and ')} in ${join(path, masks)}: leave one`
    if (taken.has(mask)) return `${join(path, masks, mask)} is the mask of several images: give each its own`
    taken.add(mask)
    rows.push({ path: join(path, images, name), label: { maskPath: join(path, masks, mask) }, origin: join(path, images) })
  }
  const left = maskNames.find((mask) => !taken.has(mask))
  return left === undefined
    ? rows
    : `${join(path, masks, left)} is the mask of no image in ${join(path, images)}: add the image, or leave the mask out`
}

/**
 * The images of a folder with a folder of images and one of masks, such as `images` and `masks`, by
 * their names: `a.png` has the mask `a.png`, `a_mask.png` or `a.geojson`. Undefined of a folder
 * that has not both; fails with code `input` where another folder stands beside them, or a name has
 * no partner or several.
 */
export const readMaskFolders = (path: string): Outcome<readonly CsvExample[] | undefined> =>
  TE.chain((rows: readonly CsvExample[] | string | undefined) =>
    typeof rows === 'string' ? TE.left<Failure>(inputFailure(rows)) : TE.right(rows)
  )(
    TE.tryCatch(async () => {
      const pair = findPair(path, (await listEntries(path)).folders)
      if (pair === undefined || typeof pair === 'string') return pair
      const [{ files: images }, { files: masks }] = [await listEntries(join(path, pair.images)), await listEntries(join(path, pair.masks))]
      const imageNames = await wholeImages(
        join(path, pair.images),
        images.filter((name) => !isHidden(name))
      )
      return imageNames.length === 0 ? [] : pairUp(path, pair, imageNames, masks.filter(isMaskName))
    }, folderFailure(path))
  )
