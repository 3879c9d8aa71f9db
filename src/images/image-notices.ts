import type { ImageHeader } from './image-header'

/** An image whose header was read. */
export interface SeenImage {
  readonly path: string
  readonly header: ImageHeader
  /** Whether polygons over it are read from GeoJSON, or written as such. */
  readonly hasGeoJson?: boolean
}

/** Pages that are neither levels of the image nor known by a name. */
const unnamedPages = ({ pages, associated = [] }: ImageHeader): number => pages - 1 - associated.length

const associatedText = (headers: readonly ImageHeader[]): string =>
  `pages beside the slide (${[...new Set(headers.flatMap(({ associated = [] }) => associated))].join(', ')}), which are not read`

/** Of whose slides OpenSlide tells which part was scanned, and QuPath shows that part alone. */
const vendorsOfParts: readonly string[] = ['leica', 'mirax', 'ventana']

type Kind = readonly [is: (header: ImageHeader, image: SeenImage) => boolean, text: (found: readonly ImageHeader[]) => string]

const kinds: readonly Kind[] = [
  [({ associated = [] }) => associated.length > 0, associatedText],
  [(header) => unnamedPages(header) > 0 && header.hasPlanes !== true, () => 'several pages or frames, of which the first is read'],
  [(header) => unnamedPages(header) > 0 && header.hasPlanes === true, () => 'several depths or times, of which the first is read'],
  [({ masks = 0 }) => masks > 0, () => 'a mask of what is transparent, which is not applied'],
  [({ hasAlpha }) => hasAlpha, () => 'a channel beside the colours, such as transparency, which is dropped'],
  [
    ({ levels }) => levels.some(({ ignoresProfile }) => ignoresProfile),
    () => 'a colour profile of some levels alone, which is not applied'
  ],
  [({ orientation }) => orientation !== 1, () => 'an orientation tag, which is not applied'],
  [
    ({ slide }, { hasGeoJson = false }) => hasGeoJson && slide !== undefined && vendorsOfParts.includes(slide.vendor),
    () =>
      "polygons in GeoJSON whose places count from the whole slide's corner: QuPath's count from the part that was scanned, unless it opens such a slide with --no-crop"
  ]
]

/** A sentence on each thing that images have and that is not read. */
export const imageNotices = (images: readonly SeenImage[]): readonly string[] =>
  kinds.flatMap(([is, textOf]) => {
    const found = images.filter((image) => is(image.header, image))
    const [first] = found
    if (first === undefined) return []
    const text = textOf(found.map(({ header }) => header))
    const who = images.length === 1 ? `the image ${first.path} has` : `${found.length} of ${images.length} images have`
    return [images.length === 1 ? `${who} ${text}` : `${who} ${text}: ${first.path}${found.length > 1 ? ', …' : ''}`]
  })
