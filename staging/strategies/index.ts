import { chen, chenSquareRoot } from './chen'
import { dymem } from './dymem'
import { greedy } from './greedy'
import { lms } from './lms'
import { plain } from './plain'
import { sft } from './sft'
import type { Strategy } from './strategy'
import { vdnn } from './vdnn'
import { window } from './window'

export const strategies = { plain, chen, 'chen-sqrt': chenSquareRoot, sft, vdnn, lms, dymem, window, greedy } satisfies Record<
  string,
  Strategy
>

/** A strategy that fills in decisions by itself. */
export type Planner = keyof typeof strategies
export const planners = Object.keys(strategies) as readonly Planner[]

/** `auto` is the fastest plan of all of them. */
export type StrategyName = 'auto' | Planner
export const strategyNames: readonly StrategyName[] = ['auto', ...planners]
