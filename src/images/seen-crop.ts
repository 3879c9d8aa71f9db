/** A crop of a validation, made small, beside what the network says of it. */
export interface SeenCrop {
  readonly name: string
  readonly height: number
  readonly width: number
  /** [height, width, 3]. */
  readonly rgb: Uint8Array
  /** [height, width] of classes, 255 where none counts; of a network that scores pixels. */
  readonly target?: Uint8Array
  readonly predicted?: Uint8Array
  /** In words the class, and the one that is predicted; of a network that scores images. */
  readonly text?: string
  readonly predictedClass?: number
  /** [height, width, 3]: the picture under the heat map of that class. */
  readonly heatMap?: Uint8Array
}
