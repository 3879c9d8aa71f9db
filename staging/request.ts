import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import type { PlanStrategy } from '../dsl/internal'
import type { DeviceModel } from './devices/device-model'
import { inputError, type StagingError } from './error'
import { buildGraph } from './ops/build-graph'
import type { Graph } from './graph/graph'
import { checkObjective, type Objective } from './graph/objective'
import type { Source } from './graph/step-graph'
import { checkInputs, checkTiles } from './check-plan'
import type { Plan, PlanPlacement } from './plans/plan'

/** Bytes, or a fraction of the peak of strategy plain: everything kept, and direct kernels. */
export type Budget = { readonly bytes: number } | { readonly fractionOfPlain: number }

/** A device's memory, which no budget may exceed. */
export interface DeviceMemory {
  readonly bytes: number
  /** What it is called in a sentence. */
  readonly name: string
}

/** A model and what a step on it is for: what a graph is built of. */
export interface GraphRequest {
  readonly model: Model
  /** [B, C, H, W]; overrides the model's own. */
  readonly input?: readonly number[]
  readonly objective: Objective
}

/** What a search for a plan has looked at so far. */
export interface Searched {
  /** Plans that were lowered to instructions. */
  readonly plans: number
  /** Segments that came into question. */
  readonly segments: number
}

/** A model, with the device and the budgets for which it is staged. */
export interface PlanRequest {
  readonly device: DeviceModel
  /** What decides; where a plan is given, what decided it. */
  readonly strategy: PlanStrategy
  /** A plan to take as it is, in place of the strategy's. */
  readonly given?: Plan
  /** Device memory for everything that a step holds; no limit when absent. */
  readonly budget?: Budget
  /**
   * The host pool, through which tensors are swapped; `auto` swaps only where it is given. No limit
   * when absent.
   */
  readonly hostBudget?: Budget
  readonly memory?: DeviceMemory
  readonly objective: Objective
  readonly source: Source
  /** Refuses kernels that round differently: nothing runs by Winograd or by Fourier transforms. */
  readonly exactKernels?: true
  /** Told thousands of times a second how far the search is; what it does changes no plan. */
  readonly onSearch?: (searched: Searched) => void
  /** How a strategy's plan places the buffers of a step; `static` where absent. */
  readonly placement?: PlanPlacement
}

/** What staging is asked of a model. */
export interface StageRequest extends GraphRequest, PlanRequest {}

/**
 * The graph as the model has it, checked for what its step is for. Fails for a model without an
 * input size, a layer that refuses its input or sees nothing but padding, tiles that cannot be, or
 * a parameter group that matches nothing.
 */
export const buildRequestGraph = ({ model, input, objective }: GraphRequest): E.Either<StagingError, Graph> =>
  pipe(
    input ?? model.input,
    E.fromNullable(inputError(`the model ${model.name} has no input size of its own; give one, as in --input 1x3x1024x1024.`)),
    E.chain((extents) => buildGraph(model, extents)),
    E.chain((graph) => checkTiles(graph, objective)),
    E.chain(checkInputs),
    E.chain((graph) => checkObjective(graph, objective))
  )
