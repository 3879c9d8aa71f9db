import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { parseLoss } from '../../dsl'
import { decodeMetadata } from './decode-metadata'
import type { Metadata } from './safetensors'

const key = 'tilefold.loss'

/** What a file of weights says of the loss that they were trained by; nothing of cross-entropy. */
export const lossMetadata = (formula: string | undefined): Metadata => (formula === undefined ? {} : { [key]: formula })

/** The loss that a file of weights was trained by; undefined where it says nothing. */
export const decodeTrainedLoss = decodeMetadata({ key, subject: 'loss', options: '--loss' }, (formula) =>
  pipe(
    parseLoss(formula),
    E.map(() => formula)
  )
)
