import * as E from 'fp-ts/Either'
import type * as TE from 'fp-ts/TaskEither'
import * as t from 'io-ts'
import type { NativeSession } from '../addon/addon'
import { type DeviceError, decodeAnswer, promiseAnswer } from '../addon/error'
import { type Image, isRead, pinPixels } from './image'

/** What a session reads of images before the run that is given them. */
export interface Preparations {
  /** As `Session.prepare`. */
  readonly prepare: (images: readonly Image[]) => TE.TaskEither<DeviceError, void>
  /** The number of what was prepared for a run of these images, once; 0 where nothing was. */
  readonly take: (images: readonly Image[]) => number
  /** Settles once nothing is being prepared. */
  readonly settle: () => Promise<void>
}

const preparedAnswer = decodeAnswer(t.void)

/** Preparations of a session's that has none yet. */
export const createPreparations = (native: NativeSession): Preparations => {
  let prepared: { readonly number: number; readonly images: readonly Image[] } | undefined
  let [latest, preparing] = [0, Promise.resolve()]
  return {
    prepare: (images) => async () => {
      if (images.length === 0 || images.some(({ pixels }) => isRead(pixels))) return E.right(undefined)
      latest += 1
      const number = latest
      const started = promiseAnswer(native.prepare({ number, images }))
      if (E.isLeft(started)) return started
      pinPixels(images)
      const done = started.right.then(preparedAnswer)
      preparing = Promise.all([preparing, done]).then(() => undefined)
      const answer = await done
      if (E.isRight(answer) && number === latest) prepared = { number, images }
      return answer
    },
    take: (images) => {
      if (images.length === 0) return 0
      const found = prepared
      prepared = undefined
      const isSame = found?.images.length === images.length && found.images.every((image, index) => image === images[index])
      return found !== undefined && isSame ? found.number : 0
    },
    settle: () => preparing
  }
}
