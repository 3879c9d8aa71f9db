import type { DeviceModel } from './devices/device-model'
import { inOrder } from './graph/order'
import { createPool } from './lowering/ir/builder'
import { createModelScope } from './lowering/segment/create-scope'
import { normalisedOnLoad, onLoadNormalisations } from './lowering/tile/normalise-on-load'
import type { Plan } from './plans/plan'
import type { PredictedPlan } from './stage'

/**
 * A plan with nothing normalised on load, and with all that can be; none where nothing can. What
 * both launch is to be measured before one of them can be chosen.
 */
export const plansOnLoad = ({ graph, plan }: Pick<PredictedPlan, 'graph' | 'plan'>, device: DeviceModel): readonly Plan[] => {
  const scope = createModelScope(inOrder(graph, plan.order), device, createPool())
  const possible = [...onLoadNormalisations(scope.parameters, scope).keys()]
  if (possible.length === 0) return []
  return [[], possible].map((positions) => ({
    ...plan,
    segments: plan.segments.map(({ normaliseOnLoad: _, ...segment }) => {
      const inside = [...normalisedOnLoad(scope, segment, positions).keys()]
      return inside.length === 0 ? segment : { ...segment, normaliseOnLoad: inside }
    })
  }))
}
