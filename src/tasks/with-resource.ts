import * as E from 'fp-ts/Either'
import type { Outcome } from '../failure'

/** Opens something, hands it to `use`, and closes it whatever happens, an exception included. */
export const withResource =
  <A, B>(open: Outcome<A>, use: (opened: A) => Outcome<B>, close: (opened: A) => Promise<void> | void): Outcome<B> =>
  async () => {
    const opened = await open()
    if (E.isLeft(opened)) return opened
    try {
      return await use(opened.right)()
    } finally {
      await close(opened.right)
    }
  }
