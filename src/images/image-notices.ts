import type { ImageHeader } from './image-header'

export interface SeenImage {
  readonly path: string
  readonly header: ImageHeader
}

const kinds: readonly (readonly [is: (header: ImageHeader) => boolean, text: string])[] = [
  [({ pages, hasPlanes }) => pages > 1 && hasPlanes !== true, 'several pages or frames, of which the first is read'],
  [({ pages, hasPlanes }) => pages > 1 && hasPlanes === true, 'several depths or times, of which the first is read'],
  [({ hasAlpha }) => hasAlpha, 'a channel beside the colours, such as transparency, which is dropped'],
  [({ orientation }) => orientation !== 1, 'an orientation tag, which is not applied']
]

/** A sentence on each thing that images have and that is not read. */
export const imageNotices = (images: readonly SeenImage[]): readonly string[] =>
  kinds.flatMap(([is, text]) => {
    const found = images.filter(({ header }) => is(header))
    const [first] = found
    if (first === undefined) return []
    const who = images.length === 1 ? `the image ${first.path} has` : `${found.length} of ${images.length} images have`
    return [images.length === 1 ? `${who} ${text}` : `${who} ${text}: ${first.path}${found.length > 1 ? ', …' : ''}`]
  })
