import type { Mask } from './masks/masks'

/** Classes that an image has, none or several: of multi-label data. */
export interface ClassSet {
  readonly classes: readonly number[]
}

/** Numbers that an image has, such as an age: of regression. */
export interface TargetValues {
  readonly values: readonly number[]
}

/** What is known of an image: its class, its classes, its numbers, or the mask of its pixels. */
export type Label = number | ClassSet | TargetValues | Mask

/** The kinds of labels; all examples of a dataset have the same. */
export type LabelKind = 'class' | 'class-set' | 'values' | 'mask'

/** The kind of a label. */
export const getLabelKind = (label: Label): LabelKind =>
  typeof label === 'number' ? 'class' : 'classes' in label ? 'class-set' : 'values' in label ? 'values' : 'mask'

/** Tells whether a label is a mask, of each pixel's class. */
export const isMask = (label: Label): label is Mask => getLabelKind(label) === 'mask'

/** The words for labels of each kind in sentences. */
export const labelNames: { readonly [K in LabelKind]: string } = {
  class: 'labels',
  'class-set': 'sets of labels',
  values: 'values',
  mask: 'masks'
}

/**
 * The numbers of an image's label as a loss takes them: its class; 1 or 0 for each class; or its
 * values.
 */
export const labelNumbers = (label: Exclude<Label, Mask>, classes: number): readonly number[] => {
  if (typeof label === 'number') return [label]
  if ('values' in label) return label.values
  return Array.from({ length: classes }, (_, one) => (label.classes.includes(one) ? 1 : 0))
}
