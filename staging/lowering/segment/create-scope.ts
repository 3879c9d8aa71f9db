import type { DeviceModel } from '../../devices/device-model'
import type { Graph } from '../../graph/graph'
import type { Layout } from '../../kernels/layout'
import type { PlacementChoice } from '../../plans/plan'
import { elementSizes } from '../../program/program'
import { exportsInput, exchangeOf } from '../scope/step-io'
import type { Objective } from '../../graph/objective'
import type { Context, Source } from '../scope/scope'
import { createEmitter, type Pool } from '../ir/builder'
import { openMoments } from '../ops/moment-addresses'
import { loweringOf } from '../ops'
import { learningTensors, parameterTensors } from '../scope/parameters'

export interface Lowering {
  readonly graph: Graph
  readonly device: DeviceModel
  readonly objective: Objective
  readonly source: Source
  /** Of the buffers; `static` where absent. */
  readonly placement?: PlacementChoice
}

/** Layout of tensor k, from the network's input on. */
const tensorLayouts = ({ graph, device }: Lowering): readonly Layout[] => {
  const layouts: Layout[] = [device.activationLayout(graph.input[1], true)]
  for (const node of graph.nodes) layouts.push(loweringOf(node).outputLayout({ device }, layouts[node.inputs[0]!]!, node))
  return layouts
}

/** Of each tensor, whether its gradient is wanted. */
const wantedGradients = (graph: Graph, parameters: Context['parameters'], ofInput: boolean): readonly boolean[] => {
  const wanted = [ofInput]
  graph.nodes.forEach(({ inputs }, position) =>
    wanted.push(learningTensors(parameters[position]).length > 0 || inputs.some((tensor) => wanted[tensor]))
  )
  return wanted
}

/** A context with every parameter in the arena, and nothing emitted yet. */
export const createContext = (lowering: Lowering, pool: Pool): Context => {
  const emit = createEmitter(pool)
  const sizes = elementSizes(lowering.device.precision)
  const layouts = tensorLayouts(lowering)
  const { graph } = lowering
  const parameters = graph.nodes.map((node) => parameterTensors(node, layouts[node.inputs[0]!]!, { ...lowering, emit, ...sizes }))
  const gradients = wantedGradients(graph, parameters, exportsInput(lowering))
  const first = gradients.indexOf(true)
  const firstLearning = first === -1 ? parameters.length : first - 1
  const moments = openMoments({ graph, emit })
  return { ...lowering, emit, ...sizes, layouts, parameters, gradients, firstLearning, moments, exchange: exchangeOf(lowering).offsets }
}
