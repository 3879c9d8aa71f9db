import { extname } from 'node:path'

/** Slides of one file or several; most are read by OpenSlide. */
const slideExtensions: readonly string[] = ['.svs', '.ndpi', '.mrxs', '.scn', '.vms', '.vmu', '.bif', '.svslide', '.dcm']

/** What files of images are called in folders; what is in them says how they are read. */
export const imageExtensions: readonly string[] = ['.png', '.jpg', '.jpeg', '.tif', '.tiff', '.webp', ...slideExtensions]

/**
 * Extensions of images that are not read: to leave them out in silence would train on something
 * else than was meant.
 */
const otherExtensions: ReadonlySet<string> = new Set(
  `ndpis dicom czi lif nd2 oir vsi qptiff zvi ims jp2 j2k jpx jxl bmp dib gif heic heif avif
   jpe jfif jif apng tga psd exr hdr pgm ppm pnm pbm fits nii dng cr2 nef arw`
    .split(/\s+/)
    .map((name) => `.${name}`)
)

const lowerExtension = (name: string): string => extname(name).toLowerCase()

/** Tells whether a file is an image that is read, by its name. */
export const isImage = (name: string): boolean => imageExtensions.includes(lowerExtension(name))
/** Tells whether a file is an image of a format that is not read, by its name. */
export const isOtherImage = (name: string): boolean => otherExtensions.has(lowerExtension(name))
/** `*.tif` of a name that ends so. */
export const extensionPattern = (name: string): string => `*${lowerExtension(name)}`

/**
 * Tells whether a name is hidden: what editors make beside folders of classes (.ipynb_checkpoints)
 * is no class, and what systems make beside images (._a.png) is none.
 */
export const isHidden = (name: string): boolean => name.startsWith('.')
