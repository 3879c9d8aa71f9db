import * as TE from 'fp-ts/TaskEither'
import type { Failure, Outcome } from '../failure'

/** Told of a part of an image that cannot be read, and of which, where that ends nothing. */
export type OnUnread = (failure: Failure, path: string) => void

/** Goes on without a part of an image that cannot be read, where somebody is to be told of it. */
export const unlessUnread = (path: string, onUnread: OnUnread | undefined): ((read: Outcome<void>) => Outcome<void>) =>
  TE.orElse((failure) => (onUnread === undefined || failure.code !== 'input' ? TE.left(failure) : TE.fromIO(() => onUnread(failure, path))))

/** Tells of each image once that a part of it cannot be read, and what follows from that. */
export const notifyOnce = (notify: (sentence: string) => void, consequence: string): OnUnread => {
  const told = new Set<string>()
  return ({ message }, path) => {
    if (!told.has(path)) notify(`${message}; ${consequence}`)
    told.add(path)
  }
}
