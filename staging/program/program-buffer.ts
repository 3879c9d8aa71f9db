/**
 * The role of a buffer. persistent: lives across sections; boundary: a whole tensor between
 * segments; output-gradient: the gradient of one, of which each element seeds exactly one tile's
 * backward; statistics: a normalisation's moments, maxima, or overlaps; local: inside one segment;
 * unwanted: what a kernel writes beside what is wanted of it.
 */
export type BufferRole = 'persistent' | 'boundary' | 'output-gradient' | 'statistics' | 'local' | 'unwanted'

/** Kinds of contents of a buffer, for people who look at memory. */
export const bufferKinds = [
  'parameters',
  'optimizer state',
  'gradients of parameters',
  'activations',
  'gradients of activations',
  'workspace'
] as const
/** What a buffer holds, in the words of reports. */
export type BufferKind = (typeof bufferKinds)[number]

/** Images or rows of a tensor, half-open. */
export type Range = readonly [from: number, to: number]

/** Rows of some images. */
export interface ImageRanges {
  readonly images: Range
  readonly rows: Range
}

/** How many images and rows a tensor has. */
export interface ImageCounts {
  readonly images: number
  readonly rows: number
}

/** What a rank has of a tensor that ranks share. */
export type TensorShare =
  | {
      /** What the buffer holds. */
      readonly kind: 'part'
      readonly held: ImageRanges
      /** Bytes of a row of one plane: of an image, and of the channels that lie side by side. */
      readonly rowBytes: number
      /** The rank's own; each row of each image is one rank's. */
      readonly own: ImageRanges
      readonly of: ImageCounts
      /** Whether the rank leaves gradients of the rows of others, to be sent to those. */
      readonly isSent: boolean
    }
  /** A sum over rows, to which each rank adds its own. */
  | { readonly kind: 'sum'; readonly own: ImageRanges; readonly of: ImageCounts }
  /** A gradient that all ranks have alike, once what each has found of it is added. */
  | { readonly kind: 'alike' }

/**
 * A range of the arena, or of the host pool, that holds one value at a time: it lives from its
 * first use in a section to its last one, through whole loops where it is used both in them and
 * outside. A value that is swapped out and in again has a buffer for each time on the device.
 */
export interface ProgramBuffer {
  readonly name: string
  readonly offset: number
  readonly bytes: number
  readonly role: BufferRole
  readonly kind: BufferKind
  /** Whose tensor or parameter it is; absent for what is of all layers, or of none. */
  readonly layer?: string
  /** What this rank has of a tensor between segments; absent where no ranks share it. */
  readonly share?: TensorShare
}
