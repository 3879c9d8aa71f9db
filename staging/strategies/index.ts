import { chen, chenSquareRoot } from './chen'
import { plain } from './plain'
import { sft } from './sft'
import type { Strategy } from './strategy'

export const strategies = { plain, chen, 'chen-sqrt': chenSquareRoot, sft } satisfies Record<string, Strategy>

export type StrategyName = keyof typeof strategies
export const strategyNames = Object.keys(strategies) as readonly StrategyName[]
