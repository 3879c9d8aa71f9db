import { chen, chenSquareRoot } from './chen'
import { dymem } from './dymem'
import { dynprog } from './dynprog'
import { greedy } from './greedy'
import { lms } from './lms'
import { lmsHybrid } from './lms-hybrid'
import type { StrategyName } from '../../dsl'
import { plain } from './plain'
import { sft } from './sft'
import { sftOffload } from './sft-offload'
import type { Strategy } from './strategy'
import { vdnn } from './vdnn'
import { vdnnConv } from './vdnn-conv'
import { window } from './window'

export { strategyNames, type StrategyName } from '../../dsl'

/** A strategy that fills in decisions by itself. */
export type Planner = Exclude<StrategyName, 'auto'>

/** The strategies by their names, but `auto`, which asks them. */
export const strategies: Readonly<Record<Planner, Strategy>> = {
  plain,
  chen,
  'chen-sqrt': chenSquareRoot,
  sft,
  'sft-offload': sftOffload,
  vdnn,
  'vdnn-conv': vdnnConv,
  lms,
  'lms-hybrid': lmsHybrid,
  dymem,
  window,
  greedy,
  dynprog
}

/** The names of all strategies but `auto`. */
export const planners = Object.keys(strategies) as readonly Planner[]
