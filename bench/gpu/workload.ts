/** A network, by the name of its model, on a batch of square images. */
export interface Workload {
  readonly model: 'vgg16' | 'resnet50' | 'deeplabv3_resnet50'
  readonly batch: number
  /** Height and width of an image. */
  readonly size: number
}
