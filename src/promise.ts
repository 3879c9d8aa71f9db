/**
 * The library for those who do without fp-ts: each function that answers with a TaskEither gives a
 * promise here, which is rejected with the same failure, as an Error. All else is as in `tilefold`.
 */
import * as library from './index'
import { toPromises } from './tasks/to-promises'

export * from './index'
export { FailureError } from './tasks/to-promises'

export const { bench, chain, compare, explain, gradients, offload, place, plan, predict, profile, readDataset, train, writeTensorFile } =
  toPromises(library)
