import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import { checkInputs } from './check-segments'
import type { DeviceModel } from './device-model'
import { inputError, type StagingError } from './error'
import { buildGraph, graphHash, withoutDropout, type Graph } from './graph'
import type { Objective, Source } from './lowering/context'
import { segmentEstimator } from './lowering/estimate'
import { lower, type Lowering } from './lowering/lower'
import { checkObjective } from './objective'
import type { MemoryPlan, Segment } from './plan'
import { asWritten, inOrder, poolBeforeRectifying } from './order'
import { aligned } from './placement/first-fit'
import type { Program } from './program'
import { chooseSegments } from './search'
import { simulate } from './simulate'
import type { StrategyName } from './strategies'
import { wholeGraph } from './strategies/plain'
import { segmentMultiplyAdds, segmentTiling, untiled } from './tiling'

export interface StageRequest {
  readonly model: Model
  /** [B, C, H, W]; overrides the model's own. */
  readonly input?: readonly number[]
  readonly device: DeviceModel
  readonly strategy: StrategyName
  /** Decisions to take as they are, in place of the strategy's. */
  readonly segments?: readonly Segment[]
  /** Bytes of device memory for everything that a step holds; no limit when absent. */
  readonly budget?: number
  readonly objective: Objective
  readonly source: Source
}

export interface Staged {
  readonly graph: Graph
  readonly plan: MemoryPlan
  readonly program: Program
}

const haloOverhead = (graph: Graph, segments: readonly Segment[]): number => {
  const multiplyAdds = (grids: (segment: Segment) => Segment['grid']): number =>
    segments.reduce((sum, segment) => sum + segmentMultiplyAdds(graph, segment, segmentTiling(graph, segment, grids(segment))!), 0)
  const once = multiplyAdds(() => untiled)
  return once === 0 ? 0 : multiplyAdds(({ grid }) => grid) / once - 1
}

/**
 * From a model, a device and a budget to a plan and its Program. The same request gives the same plan, byte for byte.
 * Fails with one sentence: a layer that refuses its input, or a budget that nothing fits, with the smallest that would do.
 */
export const stage = (request: StageRequest): E.Either<StagingError, Staged> =>
  pipe(
    request.input ?? request.model.input,
    E.fromNullable(inputError(`the model ${request.model.name} has no input size of its own; give one, as in --input 1x3x1024x1024.`)),
    E.chain((input) => buildGraph(request.model, input)),
    E.chain(checkInputs),
    E.chain((graph) => checkObjective(graph, request.objective)),
    E.chain((graph) => stageGraph(request, graph))
  )

const stageGraph = (
  { device, strategy, segments: given, budget, objective, source }: StageRequest,
  written: Graph
): E.Either<StagingError, Staged> => {
  // Gradients are of one function, not of a random one.
  const graph = objective.kind === 'gradients' ? withoutDropout(written) : written
  const asked = { device, objective, source }
  const plain = lower({ graph, ...asked }, wholeGraph(graph))
  const order = given === undefined && strategy === 'sft' ? poolBeforeRectifying(graph) : asWritten(graph)
  const lowering: Lowering = { graph: inOrder(graph, order), ...asked }
  const leastWork = lower({ graph: inOrder(graph, poolBeforeRectifying(graph)), ...asked }, wholeGraph(graph)).program()
  const residentBytes = leastWork.residents.reduce((sum, { bytes }) => sum + aligned(bytes), 0)
  return pipe(
    chooseSegments({ lowering, residentBytes, estimate: segmentEstimator(lowering) }, strategy, given, budget ?? Infinity, plain.peakBytes),
    E.map(({ segments, program: build }) => {
      const program = build()
      const plan: MemoryPlan = {
        model: graph.model,
        graphHash: graphHash(written),
        strategy,
        device: device.name,
        input: graph.input,
        budget: budget ?? null,
        order,
        segments,
        placement: { allocator: 'first-fit' },
        predicted: {
          peakDeviceBytes: program.peakBytes,
          peakHostBytes: 0,
          plainPeakBytes: plain.peakBytes,
          stepMilliseconds: simulate(program, device),
          lowerBoundMilliseconds: simulate(leastWork, device),
          haloOverhead: haloOverhead(lowering.graph, segments)
        }
      }
      return { graph, plan, program }
    })
  )
}
