import * as TE from 'fp-ts/TaskEither'
import type { Outcome } from '../failure'
import { checkWritable, writeFileAtomic } from '../files/atomic-write'
import type { Planned } from '../plans/plan-network'
import { stepTimeline } from '../../staging'
import { reportPage } from './page'
import type { Report } from './report'
import { traceEvents, traceText } from './trace'

/** Sees, before long work, that a page or a trace can be written where one is asked for. */
export const checkReport = (path: string | undefined): Outcome<void> => (path === undefined ? TE.right(undefined) : checkWritable(path))

/** Writes a report as a page, where one is asked for; it is made only then. */
export const writeReport = (path: string | undefined, make: () => Report): Outcome<void> =>
  path === undefined ? TE.right(undefined) : writeFileAtomic(path, () => [Buffer.from(reportPage(make()))])

/** Writes the step of a plan as a trace, where one is asked for. */
export const writeTrace = (
  path: string | undefined,
  { staged: { graph, program }, request }: Pick<Planned, 'staged' | 'request'>
): Outcome<void> =>
  path === undefined
    ? TE.right(undefined)
    : writeFileAtomic(path, () => [Buffer.from(traceText(traceEvents(graph.model, program, stepTimeline(program, request.device))))])
