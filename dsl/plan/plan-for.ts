import type { RequireStrict } from '../typing/fit'
import type { Model } from '../model'
import type { PartialPlan, CheckedPlan } from './checked-plan'

/**
 * A plan for a model: `export default planFor(model)({ ... })` compiles only while the plan fits
 * the model, with one sentence at the field that is wrong. It returns the plan as it is; what types
 * cannot know, and fields by their earlier names, are checked where the plan is used.
 */
export const planFor =
  <const M extends Model>(_model: M) =>
  <const P extends PartialPlan>(plan: RequireStrict<CheckedPlan<M, P>> & P): P =>
    plan
