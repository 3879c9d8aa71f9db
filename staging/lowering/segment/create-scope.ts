import type { DeviceModel } from '../../devices/device-model'
import type { Graph } from '../../graph/graph'
import type { Layout } from '../../kernels/layout'
import { elementSizes } from '../../kernels/precision'
import { exportsInput, layoutStepIo } from '../scope/step-io'
import type { Objective } from '../../graph/objective'
import type { ModelScope, Source } from '../scope/scope'
import { createBuilder, type Pool } from '../ir/builder'
import { createMoments } from '../../ops/create-moments'
import { loweringOf, weightFormsOf } from '../../ops'
import { trainableTensors, parameterTensors } from '../scope/parameters'

/** What is lowered, for what and on which device. */
export interface Lowering {
  readonly graph: Graph
  readonly device: DeviceModel
  readonly objective: Objective
  readonly source: Source
}

/** Layout of tensor k, from the network's input on. */
const tensorLayouts = ({ graph, device }: Lowering): readonly Layout[] => {
  const layouts: Layout[] = [device.activationLayout(graph.input[1], true)]
  for (const node of graph.nodes) layouts.push(loweringOf(node).outputLayout({ device }, layouts[node.inputs[0]!]!, node))
  return layouts
}

/** Of each tensor, whether its gradient is wanted. */
const wantedGradients = (graph: Graph, parameters: ModelScope['parameters'], ofInput: boolean): readonly boolean[] => {
  const wanted = [ofInput]
  graph.nodes.forEach(({ inputs }, position) =>
    wanted.push(trainableTensors(parameters[position]).length > 0 || inputs.some((tensor) => wanted[tensor]))
  )
  return wanted
}

/** The scope of a model with every parameter in the arena, and nothing emitted yet. */
export const createModelScope = (lowering: Lowering, pool: Pool): ModelScope => {
  const builder = createBuilder(pool)
  const sizes = elementSizes(lowering.device.precision)
  const layouts = tensorLayouts(lowering)
  const { graph } = lowering
  const parameters = graph.nodes.map((node) =>
    parameterTensors(node, weightFormsOf(lowering.device, node, layouts[node.inputs[0]!]!), { ...lowering, builder, ...sizes })
  )
  const requiresGrad = wantedGradients(graph, parameters, exportsInput(lowering))
  const moments = createMoments({ graph, builder })
  return { ...lowering, builder, ...sizes, layouts, parameters, requiresGrad, moments, stepIo: layoutStepIo(lowering).offsets }
}
