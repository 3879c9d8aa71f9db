import type { ConfusionMeasures } from './confusion'

/** What a validation measures; what is absent is not measured of such labels. */
export interface Quality extends Partial<ConfusionMeasures> {
  /** The mean loss, each image, or pixel that is not ignored, counted alike. */
  readonly loss: number
  /**
   * Share of images, or pixels, whose highest score is their class's; of sets of labels the share
   * of all decisions, one an image and class, that are right.
   */
  readonly accuracy?: number
  /** Mean intersection over union of the classes of masks; null where no pixel counts. */
  readonly iou?: number | null
  /**
   * Area under the ROC curve of labelled images, or of pixels of whole images: of class 1 with two
   * classes that exclude each other, else the mean over classes of one against the rest; null where
   * all are of one class.
   */
  readonly auc?: number | null
  /**
   * The area under the curve of each class, of pixels of three classes or more, and of sets of
   * labels.
   */
  readonly classAuc?: readonly (number | null)[]
  /** The mean F1 of the classes that are labelled or predicted, of sets of labels. */
  readonly f1?: number | null
  /** The F1 of each class. */
  readonly classF1?: readonly (number | null)[]
  /** The mean absolute error over the values of an image. */
  readonly mae?: number | null
  /** The mean absolute error of each value. */
  readonly valueMae?: readonly (number | null)[]
  /** The coefficient of determination, R², the mean over the values of an image. */
  readonly r2?: number | null
  /** The R² of each value; null where all targets are one. */
  readonly valueR2?: readonly (number | null)[]
}
