import * as E from 'fp-ts/Either'
import { decodeMetadata } from './decode-metadata'
import type { Metadata } from './safetensors'

const key = 'tilefold.resolution'

/** A level, or micrometres a pixel, as images are read at one. */
type Resolution = { readonly level: number } | { readonly micronsPerPixel: number }

/** The option by which images are read so; undefined where they are read as they are stored. */
const resolutionOption = (resolution: Resolution): string | undefined => {
  if ('micronsPerPixel' in resolution) return `--mpp ${resolution.micronsPerPixel}`
  return resolution.level === 0 ? undefined : `--level ${resolution.level}`
}

/** What a weights file keeps of how fine images were read; nothing of images as they are stored. */
export const resolutionMetadata = (resolution: Resolution): Metadata => {
  const option = resolutionOption(resolution)
  return option === undefined ? {} : { [key]: option }
}

const decodeTrainedResolution = decodeMetadata({ key, subject: 'resolution', options: '--level or --mpp' }, (text) =>
  /^--(level|mpp) [\d.e+-]+$/.test(text) ? E.right(text) : E.left(undefined)
)

/** A sentence where images are read otherwise than those were that weights were trained on. */
export const resolutionNotice = (file: Parameters<typeof decodeTrainedResolution>[0], resolution: Resolution): string | undefined => {
  const trained = E.getOrElse((): string | undefined => undefined)(decodeTrainedResolution(file))
  const now = resolutionOption(resolution)
  return trained === undefined || trained === now
    ? undefined
    : `${file.path} were trained on images as ${trained} reads them, and these are read ${now === undefined ? 'as they are stored' : `by ${now}`}`
}
