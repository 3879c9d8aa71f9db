import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { checkWritable, writeFileAtomic } from '../files/atomic-write'
import { namedPaths } from '../files/paths'
import { checkWrittenKind } from '../files/written-kind'
import type { Planned } from '../plans/plan-network'
import { type SectionRun, runTimeline, stepTimeline } from '../../staging'
import { reportPage } from './page'
import type { Report } from './report'
import { traceEvents, traceText } from './trace'

/** Sees, before long work, that a page and a trace can be written where they are asked for. */
export const checkReports = ({ report, trace }: { readonly report?: string | undefined; readonly trace?: string }): Outcome<void> =>
  pipe(
    [...namedPaths('--report', report), ...namedPaths('--trace', trace)],
    TE.traverseSeqArray((named) => TE.chain(() => checkWritable(named.path))(checkWrittenKind(named))),
    TE.map(() => undefined)
  )

/** Writes a report as a page, where one is asked for; it is made only then. */
export const writeReport = (path: string | undefined, make: () => Report): Outcome<void> =>
  path === undefined ? TE.right(undefined) : writeFileAtomic(path, () => [Buffer.from(reportPage(make()))])

const write = (path: string, events: () => ReturnType<typeof traceEvents>): Outcome<void> =>
  writeFileAtomic(path, () => [Buffer.from(traceText(events()))])

/** Writes the step of a plan as a trace, as it is predicted, where one is asked for. */
export const writeTrace = (
  path: string | undefined,
  { staged: { graph, program }, request }: Pick<Planned, 'staged' | 'request'>
): Outcome<void> =>
  path === undefined
    ? TE.right(undefined)
    : write(path, () => traceEvents(`${graph.model}, as predicted`, program, stepTimeline(program, request.device)))

/** Writes sections as a trace, as they ran, where one is asked for and any did. */
export const writeRunTrace = (
  path: string | undefined,
  { staged: { graph, program } }: Pick<Planned, 'staged'>,
  runs: readonly SectionRun[]
): Outcome<void> =>
  path === undefined || runs.length === 0
    ? TE.right(undefined)
    : write(path, () => {
        const { timeline, sections } = runTimeline(program, runs)
        return traceEvents(`${graph.model}, as it ran`, program, timeline, sections)
      })
