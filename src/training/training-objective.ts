import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Objective } from '../../staging'
import type { Failure } from '../failure'
import type { DecodedOptions } from '../options/option'
import type { optimizerOptions } from '../option-tables/optimizer-options'
import { resolveOptimizer } from './optimizer'

/** A training step as staging sees it. */
export type TrainingObjective = Extract<Objective, { readonly kind: 'train' }>

/** The objective of a training step, by the options of the optimizer. */
export const trainingObjective = ({
  accumulate,
  clipNorm,
  freeze = [],
  paramGroup = [],
  ...choices
}: DecodedOptions<typeof optimizerOptions>): E.Either<Failure, TrainingObjective> => {
  const frozen = freeze.map((prefix) => ({ prefix, frozen: true as const }))
  const groups = [...paramGroup.filter(({ prefix }) => !freeze.includes(prefix)), ...frozen]
  return pipe(
    resolveOptimizer(choices),
    E.map((optimizer) => ({
      kind: 'train',
      optimizer,
      ...(accumulate > 1 ? { accumulate } : {}),
      ...(clipNorm === undefined ? {} : { clipNorm }),
      ...(groups.length > 0 ? { groups } : {})
    }))
  )
}
