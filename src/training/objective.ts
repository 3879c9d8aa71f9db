import type { Objective, Optimizer, ParameterGroup } from '../../staging'

/** What an update of the weights is; all of it changes bytes. */
export interface ObjectiveOptions {
  readonly optimizer: Optimizer
  /** Micro-batches whose gradients are added up before an update; 1 where absent. */
  readonly accumulate?: number
  /** Gradients are scaled down to this norm (over all of them) where theirs is larger. */
  readonly clipNorm?: number
  /** Prefixes of names of parameters that stay as they are, such as features.0. */
  readonly freeze?: readonly string[]
  /** Learning rate and weight decay of parameters by prefix. */
  readonly group?: readonly ParameterGroup[]
}

export const trainingObjective = (
  { optimizer, accumulate = 1, clipNorm, freeze = [], group = [] }: ObjectiveOptions,
  extra: { readonly rowWeights?: true; readonly evaluate?: true } = {}
): Objective => {
  const frozen = freeze.map((prefix) => ({ prefix, frozen: true as const }))
  const groups = [...group.filter(({ prefix }) => !freeze.includes(prefix)), ...frozen]
  return {
    kind: 'train',
    optimizer,
    ...(accumulate > 1 ? { accumulate } : {}),
    ...(clipNorm === undefined ? {} : { clipNorm }),
    ...(groups.length > 0 ? { groups } : {}),
    ...extra
  }
}
