import type { TiffDirectory } from './directories'

/** Pages that say where other pages are transparent. */
export const countMasks = (directories: readonly TiffDirectory[]): number =>
  directories.filter(({ page, subDirectory, isMask }) => page > 0 && subDirectory === undefined && isMask).length

/** What Aperio writes of such a page: its software, and in the next line what it is. */
const namedPage = /^Aperio[^\r\n]*\r?\n(label|macro)\b/

/**
 * The pages of an Aperio slide that are no levels of it, by OpenSlide's names: the second page in
 * strips is the thumbnail, and of later ones the description says `label` or `macro`. None of
 * another file, and none that is not told.
 */
export const associatedImages = ([whole, ...others]: readonly TiffDirectory[]): readonly string[] => {
  if (whole?.description.startsWith('Aperio') !== true) return []
  return others.flatMap(({ page, subDirectory, tile, description }) => {
    if (subDirectory !== undefined || tile !== undefined) return []
    return page === 1 ? ['thumbnail'] : (namedPage.exec(description)?.slice(1, 2) ?? [])
  })
}
