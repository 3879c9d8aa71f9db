import { planningDevice } from './devices/algorithms'
import { createStepGraph } from './ops/build-graph'
import type { Graph } from './graph/graph'
import { bindAlone } from './lowering/segment/bind'
import type { ModelScope } from './lowering/scope/scope'
import { createBuilder, createPool, type Buffer, type Pool, type UnplacedInstruction } from './lowering/ir/builder'
import { createModelScope } from './lowering/segment/create-scope'
import { trainableTensors, stateNames, listParameters, updateParameter } from './lowering/scope/parameters'
import { emitBackward } from './lowering/segment/backward'
import { emitForward } from './lowering/segment/forward'
import { forwardPass } from './lowering/segment/segment-code'
import { tensorBytes } from './lowering/scope/regions'
import { maxLive } from './placement/placement'
import { computeLifetimes } from './placement/lifetimes'
import { nanoseconds } from './devices/simulate'
import type { PlanRequest } from './request'
import { segmentTiling } from './graph/tiling'
import { untiled, type Span } from './graph/span'
import type { Chain, Stage } from './chain/chain'
import { stageSpans } from './chain/stage-spans'

/** A network as a chain for offloading, and what stands beside it. */
export interface ModelChain {
  readonly chain: Chain
  /**
   * Parameters, optimizer state and gradients kept over a step: bytes that stand beside the chain's
   * in the device's memory.
   */
  readonly residentBytes: number
}

/** The measures of one stage, with the bytes that it leaves for its backward beside its output. */
interface Measured extends Omit<Stage, 'x' | 'y'> {
  readonly output: { readonly x: number; readonly y: number }
}

/**
 * Runs a span by itself, whole, on no device: forward as it is kept for backward, then backward
 * with the parameters' updates.
 */
const measure = (scope: ModelScope, pool: Pool, { from, to }: Span): Measured => {
  const builder = createBuilder(pool)
  const inside: ModelScope = { ...scope, builder }
  const { graph, device } = scope
  const { objective } = graph
  const segment = { from, to, grid: untiled, recompute: false, reorder: 'once' } as const
  const code = bindAlone(inside, segment, segmentTiling(graph, segment, untiled)!, new Set())
  const after = code.boundaries.get(to)
  const kept = emitForward(inside, code, forwardPass(code))
  const launched = builder.code().length
  emitBackward(inside, code, kept, (parameter, gradient) => {
    if (objective.kind !== 'train' || parameter.gradient !== undefined) return
    const state = stateNames(objective.optimizer).map((name) =>
      builder.buffer({ kind: 'state', parameter: parameter.name, state: name }, gradient.bytes, 'persistent')
    )
    updateParameter(builder, objective.optimizer, parameter, gradient, state)
  })

  const milliseconds = (instructions: readonly UnplacedInstruction[]): number =>
    instructions.reduce((sum, one) => sum + (one.kind === 'launch' ? nanoseconds(device, pool.kernels[one.kernel]!) : 0), 0) / 1e6
  const first = kept?.[0]?.source.address
  const isInput = (buffer: Buffer): boolean => from === 0 && first?.space === 'arena' && first.buffer === buffer
  const local = computeLifetimes(builder.code(), []).filter(
    ({ buffer }) => (buffer.role === 'local' || buffer.role === 'unwanted') && !isInput(buffer)
  )
  const forward = local.filter((one) => one.from < launched)
  const backward = local.filter((one) => one.to > launched)
  const keptBytes = forward.filter((one) => one.to > launched).reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    name: graph.nodes[from]!.name,
    u_F: milliseconds(builder.code().slice(0, launched)),
    u_B: milliseconds(builder.code().slice(launched)),
    ex_F: Math.max(0, maxLive(forward).bytes - keptBytes),
    ex_B: Math.max(0, maxLive(backward).bytes - keptBytes),
    output: { x: (after?.tensor.buffer.bytes ?? 0) + keptBytes, y: after?.gradient?.buffer.bytes ?? 0 }
  }
}

const countResidentBytes = ({ graph: { objective }, parameters, parameterBytes }: ModelScope): number => {
  const bytes = (tensors: readonly { readonly elements: number }[]): number =>
    tensors.reduce((sum, { elements }) => sum + elements * parameterBytes, 0)
  const learning = parameters.flatMap(trainableTensors)
  const states = objective.kind === 'train' ? stateNames(objective.optimizer).length : 0
  return (
    bytes(parameters.flatMap((both) => (both === undefined ? [] : listParameters(both)))) +
    states * bytes(learning) +
    bytes(learning.filter(({ gradient }) => gradient !== undefined))
  )
}

/**
 * The chain of a model's training step on a device, as the paper sees one: untiled, by direct
 * kernels. A stage is an op with those after it that work in place; what it keeps for its backward
 * (which elements won a pool) goes with its output. The link is as fast as its slower way.
 */
export const buildChain = (
  sourceGraph: Graph,
  request: Pick<PlanRequest, 'device' | 'objective' | 'source' | 'exactKernels'>
): ModelChain => {
  const graph = createStepGraph(sourceGraph, request.objective, request.source)
  const device = planningDevice(request.device, request.exactKernels)
  const pool = createPool()
  const scope = createModelScope(graph, device, pool)
  const measured = stageSpans(graph).map((span) => measure(scope, pool, span))
  const input = { x: tensorBytes(scope.layouts[0]!, graph.input, scope.activationBytes), y: 0 }
  const outputs = measured.map(({ output }) => output)
  return {
    chain: {
      name: graph.model,
      stages: measured.map(({ name, u_F, u_B, ex_F, ex_B }, i) => ({ name, u_F, u_B, ...(outputs[i - 1] ?? input), ex_F, ex_B })),
      output: outputs.at(-1)!,
      beta: Math.min(device.linkBytesPerSecond.toDevice, device.linkBytesPerSecond.toHost)
    },
    residentBytes: countResidentBytes(scope)
  }
}
