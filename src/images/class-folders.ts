import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import { type Outcome, inputFailure, reasonOf } from '../failure'
import { imageExtensions } from './decode-image'

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
export const entriesOf = async (folder: string): Promise<Entries> => {
  const entries = await readdir(folder, { withFileTypes: true })
  const areFolders = await Promise.all(entries.map((entry) => isFolder(folder, entry)))
  const namesWhere = (wanted: boolean): readonly string[] =>
    entries.flatMap(({ name }, index) => (areFolders[index] === wanted ? [name] : [])).sort()
  return { folders: namesWhere(true), files: namesWhere(false) }
}

/**
 * Extensions of images that are not read: to leave them out in silence would train on something
 * else than was meant.
 */
const otherExtensions: ReadonlySet<string> = new Set(
  `ndpi ndpis mrxs vms vmu scn bif svslide dcm dicom czi lif nd2 oir vsi qptiff zvi ims jp2 j2k jpx jxl bmp dib gif heic heif avif
   jpe jfif jif apng tga psd exr hdr pgm ppm pnm pbm fits nii dng cr2 nef arw`
    .split(/\s+/)
    .map((name) => `.${name}`)
)

/**
 * Tells whether a name is hidden: what editors make beside folders of classes (.ipynb_checkpoints)
 * is no class.
 */
export const isHidden = (name: string): boolean => name.startsWith('.')

const [subfolders, hiddenFolders] = ['subfolders', 'hidden folders']
/** The singular of the words for folders. */
const singular: Readonly<Record<string, string>> = { [subfolders]: 'subfolder', [hiddenFolders]: 'hidden folder' }

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
  return `${path}: left out are ${kinds.join(', ')}; what is read are PNG, JPEG, TIFF and WebP files in one folder a class`
}

/** Tells whether a file is an image that is read, by its name. */
export const isImage = (name: string): boolean => imageExtensions.includes(extname(name).toLowerCase())
const isOtherImage = (name: string): boolean => otherExtensions.has(extname(name).toLowerCase())
const extensionPattern = (name: string): string => `*${extname(name).toLowerCase()}`

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
  TE.tryCatch(
    async () => {
      const { folders: all, files: beside } = await entriesOf(path)
      const folders = all.filter((name) => !isHidden(name))
      const classes = await Promise.all(folders.map((folder) => entriesOf(join(path, folder))))
      const examples = classes.flatMap(({ files }, label) =>
        files.filter(isImage).map((name) => ({ path: join(path, folders[label]!, name), label, origin: join(path, folders[label]!) }))
      )
      const leftOut = leftOutText(path, [
        ...all.filter(isHidden).map((name) => [hiddenFolders, name] as const),
        ...beside.filter((name) => isImage(name) || isOtherImage(name)).map((name) => [extensionPattern(name), name] as const),
        ...classes.flatMap((entries, label) => [
          ...entries.files.filter(isOtherImage).map((name) => [extensionPattern(name), join(folders[label]!, name)] as const),
          ...entries.folders.map((name) => [subfolders, join(folders[label]!, name)] as const)
        ])
      ])
      return { examples, classes: folders.length, names: folders, source: path, ...(leftOut === undefined ? {} : { leftOut }) }
    },
    (thrown) => inputFailure(`the folder ${path} cannot be read: ${reasonOf(thrown)}`)
  )
