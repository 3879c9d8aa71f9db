import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Objective, Source } from '../../staging'
import type { Outcome } from '../failure'
import { measureFirst } from './measure-first'
import { type SharingRanks, onRanks } from './fastest-mesh'
import { buildFittingGraph } from './fitting-sides'
import type { SetupGraph } from './plan-network'
import type { Setup } from './setup'
import { type Watching, pickWatching } from './watching'

/**
 * The graph of a setup, ready to be planned: as one of `ranks` has it, where that is given, and
 * with those kernels measured for which the setup asks. Fails with code `input` for a model, a
 * plan or ranks that do not go together, and as measuring does.
 */
export const prepareGraph = (setup: Setup, objective: Objective, source: Source, options: Watching & SharingRanks): Outcome<SetupGraph> => {
  const watching = pickWatching(options)
  return pipe(
    TE.fromEither(buildFittingGraph(setup, objective, source)),
    TE.chainEitherK((built) => onRanks(built, options, watching)),
    TE.chainFirst((built) => measureFirst(built, watching))
  )
}
