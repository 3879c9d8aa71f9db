import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import { type Failure, type Outcome, inputFailure, errorReason } from '../failure'
import { extensionPattern, isHidden, isImage, isOtherImage } from './image-names'
import { isSlideFolder, wholeImages } from './slide-parts'

/** Links to folders count; what cannot be looked at does not. */
const isFolder = async (folder: string, entry: Dirent): Promise<boolean> => {
  if (entry.isDirectory() || entry.isFile()) return entry.isDirectory()
  return stat(join(folder, entry.name)).then(
    (found) => found.isDirectory(),
    () => false
  )
}

interface Entries {
  readonly folders: readonly string[]
  readonly files: readonly string[]
}

/** The names of folders and files in a folder, sorted. */
export const listEntries = async (folder: string): Promise<Entries> => {
  const entries = await readdir(folder, { withFileTypes: true })
  const areFolders = await Promise.all(entries.map((entry) => isFolder(folder, entry)))
  const namesWhere = (wanted: boolean): readonly string[] =>
    entries.flatMap(({ name }, index) => (areFolders[index] === wanted ? [name] : [])).sort()
  return { folders: namesWhere(true), files: namesWhere(false) }
}

/** A folder that cannot be read, or one in it, where that is the one that cannot. */
export const folderFailure =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`the folder ${(thrown as NodeJS.ErrnoException).path ?? path} cannot be read: ${errorReason(thrown)}`)

const [subfolders, hiddenFolders, hiddenImages] = ['subfolders', 'hidden folders', 'hidden images']
const singular: Readonly<Record<string, string>> = {
  [subfolders]: 'subfolder',
  [hiddenFolders]: 'hidden folder',
  [hiddenImages]: 'hidden image'
}

/**
 * A sentence on the files that lie in the folder and are left out, by kind; undefined where there
 * are none.
 */
const leftOutText = (path: string, leftOut: readonly (readonly [kind: string, name: string])[]): string | undefined => {
  if (leftOut.length === 0) return undefined
  const kinds = [...new Set(leftOut.map(([kind]) => kind))].map((wanted) => {
    const names = leftOut.flatMap(([kind, name]) => (kind === wanted ? [name] : []))
    return `${names.length} ${names.length === 1 ? (singular[wanted] ?? wanted) : wanted} (${names[0]}${names.length > 1 ? ', …' : ''})`
  })
  return `${path}: left out are ${kinds.join(', ')}; what is read are PNG, JPEG, TIFF, WebP and slide files in one folder a class`
}

/** The images of a folder with one folder of images a class. */
export interface ClassFolders {
  readonly examples: readonly { readonly path: string; readonly label: number; readonly origin: string }[]
  readonly classes: number
  readonly names: readonly string[]
  readonly source: string
  readonly leftOut?: string
}

/** Labels are in the order of the folders' names. */
export const readClassFolders = (path: string): Outcome<ClassFolders> =>
  TE.tryCatch(async () => {
    const { folders: all, files: beside } = await listEntries(path)
    const folders = all.filter((name) => !isHidden(name))
    const classes = await Promise.all(folders.map((folder) => listEntries(join(path, folder))))
    // macOS writes a ._1.png beside a 1.png where the disk is not its own.
    const seen = classes.map(({ files }) => files.filter((name) => !isHidden(name)))
    const images = await Promise.all(seen.map((files, label) => wholeImages(join(path, folders[label]!), files)))
    const examples = images.flatMap((names, label) => {
      const origin = join(path, folders[label]!)
      return names.map((name) => ({ path: join(origin, name), label, origin }))
    })
    const leftOut = leftOutText(path, [
      ...all.filter(isHidden).map((name) => [hiddenFolders, name] as const),
      ...beside.filter((name) => isImage(name) || isOtherImage(name)).map((name) => [extensionPattern(name), name] as const),
      ...classes.flatMap((entries, label) => [
        ...seen[label]!.filter(isOtherImage).map((name) => [extensionPattern(name), join(folders[label]!, name)] as const),
        ...entries.files
          .filter((name) => isHidden(name) && (isImage(name) || isOtherImage(name)))
          .map((name) => [hiddenImages, join(folders[label]!, name)] as const),
        ...entries.folders
          .filter((name) => !isSlideFolder(name, entries.files))
          .map((name) => [subfolders, join(folders[label]!, name)] as const)
      ])
    ])
    return { examples, classes: folders.length, names: folders, source: path, ...(leftOut === undefined ? {} : { leftOut }) }
  }, folderFailure(path))
