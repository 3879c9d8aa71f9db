import type { Shard } from './graph'
import type { Objective, ParameterGroup, Training } from './objective'

/** Words on which parameters are frozen, by prefix, and which of those are not. */
const frozenText = (groups: readonly ParameterGroup[]): readonly string[] =>
  groups
    .filter(({ frozen }) => frozen === true)
    .map(({ prefix }) => {
      const kept = groups.filter((group) => group.frozen !== true && group.prefix.startsWith(prefix === '' ? '' : `${prefix}.`))
      const but = kept.length === 0 ? '' : ` but ${kept.map((group) => group.prefix).join(' ')}`
      return `${prefix === '' ? 'all' : prefix} frozen${but}`
    })

const shardText = ({ count, images = 1 }: Shard): string => {
  const rows = `rows shared by ${count / images} ranks`
  if (images === 1) return rows
  return images === count ? `images shared by ${count} ranks` : `images shared by ${images} groups of ranks, ${rows} of each`
}

const trainingText = ({ optimizer, accumulate = 1, ranks, shard, clipNorm, groups = [], rowWeights, evaluate }: Training): string =>
  [
    `train with ${optimizer.kind}${optimizer.kind === 'sgd' && optimizer.momentum === 0 ? ' without momentum' : ''}`,
    ...(accumulate === 1 ? [] : [`${accumulate} micro-batches accumulated`]),
    // How many there are changes nothing.
    ...(ranks === undefined ? [] : ['shared by ranks']),
    ...(shard === undefined ? [] : [shardText(shard)]),
    ...(clipNorm === undefined ? [] : [`gradients clipped to norm ${clipNorm}`]),
    ...frozenText(groups),
    ...(rowWeights === undefined ? [] : ['rows weighted']),
    ...(evaluate === undefined ? [] : ['validated'])
  ].join(', ')

/** The beginnings of all texts that objectiveText gives. */
export const objectiveBeginnings: readonly string[] = [
  'gradients',
  'evaluate',
  ...['sgd', 'sgd without momentum', 'adam', 'adamw'].map((optimizer) => `train with ${optimizer}`)
]

/** Returns the objective of a step in words: all of it that changes bytes. */
export const objectiveText = (objective: Objective): string => (objective.kind === 'train' ? trainingText(objective) : objective.kind)
