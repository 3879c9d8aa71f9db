import * as E from 'fp-ts/Either'

/**
 * `balanced`: images / (classes that have images x images of the class), as scikit-learn's, or the
 * same of pixels; or one weight a class.
 */
export type ClassWeights = 'balanced' | readonly number[]

/** Reads `balanced`, or a number from 0 upwards for each class; a sentence where it is neither. */
export const parseClassWeights = (text: string): E.Either<string, ClassWeights> => {
  if (text === 'balanced') return E.right('balanced')
  const weights = text.split(',').map((part) => (part.trim() === '' ? NaN : Number(part)))
  return weights.every((weight) => weight >= 0 && Number.isFinite(weight))
    ? E.right(weights)
    : E.left(`"${text}" is not class weights: write balanced, or one number from 0 upwards a class, such as 1,2.5`)
}
