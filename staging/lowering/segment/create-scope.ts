import type { DeviceModel } from '../../devices/device-model'
import type { Graph } from '../../graph/graph'
import type { Layout } from '../../kernels/layout'
import { elementSizes } from '../../kernels/precision'
import { exportsInput, layoutStepIo } from '../scope/step-io'
import type { StepGraph } from '../../graph/step-graph'
import type { ModelScope } from '../scope/scope'
import { createBuilder, type Pool } from '../ir/builder'
import { createMoments } from '../../ops/create-moments'
import { getNodeLowering, getWeightForms } from '../../ops'
import { trainableTensors, parameterTensors } from '../scope/parameters'

/** Layout of tensor k, from the network's input on. */
const tensorLayouts = (graph: Graph, device: DeviceModel): readonly Layout[] => {
  const layouts: Layout[] = [device.activationLayout(graph.input[1], true)]
  for (const node of graph.nodes) layouts.push(getNodeLowering(node).outputLayout({ device }, layouts[node.inputs[0]!]!, node))
  return layouts
}

/** Returns whether the gradient of each tensor is wanted. */
const wantedGradients = (graph: Graph, parameters: ModelScope['parameters'], ofInput: boolean): readonly boolean[] => {
  const wanted = [ofInput]
  graph.nodes.forEach(({ inputs }, position) =>
    wanted.push(trainableTensors(parameters[position]).length > 0 || inputs.some((tensor) => wanted[tensor]))
  )
  return wanted
}

/**
 * The scope of a graph, in the order in which it runs, on a device: with every parameter in the
 * arena, and nothing emitted yet.
 */
export const createModelScope = (graph: StepGraph, device: DeviceModel, pool: Pool): ModelScope => {
  const builder = createBuilder(pool)
  const sizes = elementSizes(device.precision)
  const layouts = tensorLayouts(graph, device)
  const parameters = graph.nodes.map((node) =>
    parameterTensors(node, getWeightForms(device, node, layouts[node.inputs[0]!]!), { graph, builder, ...sizes })
  )
  const requiresGrad = wantedGradients(graph, parameters, exportsInput(graph))
  const moments = createMoments({ graph, builder })
  return { graph, device, builder, ...sizes, layouts, parameters, requiresGrad, moments, stepIo: layoutStepIo(graph, device).offsets }
}
