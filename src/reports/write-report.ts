import * as TE from 'fp-ts/TaskEither'
import type { Outcome } from '../failure'
import { checkWritable, writeFileAtomic } from '../files/atomic-write'
import { reportPage } from './page'
import type { Report } from './report'

/** Sees, before long work, that a page can be written where one is asked for. */
export const checkReport = (path: string | undefined): Outcome<void> => (path === undefined ? TE.right(undefined) : checkWritable(path))

/** Writes a report as a page, where one is asked for; it is made only then. */
export const writeReport = (path: string | undefined, make: () => Report): Outcome<void> =>
  path === undefined ? TE.right(undefined) : writeFileAtomic(path, () => [Buffer.from(reportPage(make()))])
