import { windowOf } from '../../../dsl'
import { layoutCode, type Layout } from '../../layout'
import { scratchFor, windowFields, type Step } from '../context'
import { at, none } from '../emitter'
import type { NodeFor, OpLowering } from './op-lowering'

/** What is spread comes last: V8 is a hundred times slower the other way round, and plans are made of a million of these. */
const fields = (step: Step<NodeFor<'conv2d'>>, sourceLayout: Layout, weightLayout: Layout, winograd: boolean) => ({
  outChannels: step.node.args.out,
  groups: step.node.args.groups ?? 1,
  sourceLayout: layoutCode(sourceLayout),
  destinationLayout: layoutCode(step.destination.layout),
  weightLayout: layoutCode(weightLayout),
  algorithm: winograd ? 1 : 0,
  ...windowFields(windowOf(step.node.args), step)
})

export const conv2d: OpLowering<'conv2d'> = {
  keeps: { input: true },
  inPlace: false,
  outputLayout: ({ device }, _, { out }) => device.activationLayout(out, false),
  forward: (context, step) => {
    const { weight, bias } = step.parameters!
    const transformed = context.winograd?.get(weight)
    const layout = transformed === undefined ? weight.layout : 'winogradForward'
    const kernel = {
      kind: 'convolutionForward',
      slope: step.slope,
      ...fields(step, step.source.layout, layout, transformed !== undefined)
    } as const
    context.emit.launch<'convolutionForward'>(kernel, {
      source: step.source.address,
      weights: transformed?.winogradForward() ?? at(weight.buffer),
      bias: bias === undefined ? none : at(bias.buffer),
      destination: step.destination.address,
      scratch: scratchFor(context, kernel)
    })
  },
  backward: (context, step, gradients) => {
    const { weight } = step.parameters!
    const { address: destinationGradient } = gradients.destination!
    const transformed = context.winograd?.get(weight)
    const weights = {
      kind: 'convolutionBackwardWeights',
      ...fields(step, step.source.layout, weight.layout, transformed !== undefined)
    } as const
    if (gradients.weight !== none)
      context.emit.launch<'convolutionBackwardWeights'>(weights, {
        source: step.source.address,
        destinationGradient,
        weightGradient: gradients.weight,
        biasGradient: gradients.bias,
        scratch: scratchFor(context, weights)
      })
    if (gradients.source === undefined) return
    const layout = transformed === undefined ? weight.backwardLayout : 'winogradBackward'
    const data = { kind: 'convolutionBackwardData', ...fields(step, gradients.source.layout, layout, transformed !== undefined) } as const
    context.emit.launch<'convolutionBackwardData'>(data, {
      destinationGradient,
      weights: transformed?.winogradBackward() ?? gradients.backwardWeights(),
      sourceGradient: gradients.source.address,
      scratch: scratchFor(context, data)
    })
  }
}
