import * as t from 'io-ts'

/** Codec of a number of steps. */
export const stepCodec = t.refinement(t.number, (value) => Number.isSafeInteger(value) && value >= 0, 'number of steps')

const measure = t.union([t.number, t.null])
/** Codec of a validation. */
export const validationCodec = t.intersection([
  t.type({ step: stepCodec, loss: t.number }),
  t.partial({
    validatedOn: t.keyof({ image: null, crop: null }),
    accuracy: t.number,
    f1: measure,
    mae: measure,
    r2: measure,
    classF1: t.readonlyArray(measure),
    valueMae: t.readonlyArray(measure),
    valueR2: t.readonlyArray(measure),
    auc: measure,
    iou: measure,
    dice: measure,
    kappa: measure,
    classIou: t.readonlyArray(measure),
    classDice: t.readonlyArray(measure),
    classAuc: t.readonlyArray(measure),
    confusion: t.readonlyArray(t.readonlyArray(t.number))
  })
])

/** Codec of the record of a training. */
export const recordCodec = t.type({
  loss: t.readonlyArray(t.number),
  stepMs: t.readonlyArray(t.number),
  learningRate: t.readonlyArray(t.union([t.number, t.null])),
  validations: t.readonlyArray(validationCodec)
})
