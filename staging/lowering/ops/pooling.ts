import { windowOf } from '../../../dsl'
import { pixelReductionAccess } from '../../access'
import { layoutCode } from '../../layout'
import { windowFields, type Context, type Step } from '../context'
import { maximaAt } from '../moments'
import { originOf, tileFields } from '../tensors'
import { windowAccess } from './convolution'
import { plainLayout, sameLayout, type NodeFor, type OpLowering } from './op-lowering'

const fields = (step: Step<NodeFor<'maxPool2d' | 'avgPool2d'>>) => ({
  layout: layoutCode(step.source.layout),
  ...windowFields(windowOf(step.node.args), step)
})

export const maxPool2d: OpLowering<'maxPool2d'> = {
  access: windowAccess,
  saves: { winners: true },
  inPlace: false,
  outputLayout: sameLayout,
  forward: ({ emit }, step) =>
    emit.launch<'maxPoolForward'>(
      { kind: 'maxPoolForward', ...fields(step) },
      { source: step.source.address, destination: step.destination.address, winners: step.winners }
    ),
  backward: ({ emit }, step, { destination, source }) =>
    emit.launch<'maxPoolBackward'>(
      { kind: 'maxPoolBackward', ...fields(step) },
      { destinationGradient: destination!.address, winners: step.winners, sourceGradient: source!.address }
    )
}

const averageFields = (step: Step<NodeFor<'avgPool2d'>>) => ({
  overhangBottom: step.rows.overhang,
  overhangRight: step.columns.overhang,
  countPadding: step.node.args.countIncludePad === false ? 0 : 1,
  ...fields(step)
})

export const avgPool2d: OpLowering<'avgPool2d'> = {
  access: windowAccess,
  saves: {},
  inPlace: false,
  outputLayout: sameLayout,
  forward: ({ emit }, step) =>
    emit.launch<'averagePoolForward'>(
      { kind: 'averagePoolForward', ...averageFields(step) },
      { source: step.source.address, destination: step.destination.address }
    ),
  backward: ({ emit }, step, { destination, source }) =>
    emit.launch<'averagePoolBackward'>(
      { kind: 'averagePoolBackward', ...averageFields(step) },
      { destinationGradient: destination!.address, sourceGradient: source!.address }
    )
}

/** A sum over pixels: each tile adds its owned part, scaled by one over the whole tensor's pixels. */
export const globalAvgPool: OpLowering<'globalAvgPool'> = {
  access: pixelReductionAccess,
  saves: {},
  inPlace: false,
  accumulates: () => true,
  outputLayout: plainLayout,
  forward: ({ emit }, step) =>
    emit.launch<'sumPixelsForward'>(
      { kind: 'sumPixelsForward', ...tileFields(step.source), scale: scaleOf(step) },
      { source: step.source.address, sum: step.destination.address }
    ),
  backward: ({ emit }, step, { destination, source }) =>
    emit.launch<'sumPixelsBackward'>(
      { kind: 'sumPixelsBackward', ...tileFields(source!), scale: scaleOf(step) },
      { sumGradient: destination!.address, sourceGradient: source!.address }
    )
}

/** A merge over pixels: the maxima, with their places, stay until backward, so that each tile knows whether it holds one. */
export const globalMaxPool: OpLowering<'globalMaxPool'> = {
  access: pixelReductionAccess,
  saves: {},
  inPlace: false,
  outputLayout: plainLayout,
  forward: (context, step) =>
    context.emit.launch<'globalMaxPoolForward'>(
      { kind: 'globalMaxPoolForward', ...placedFields(step) },
      { source: step.source.address, destination: step.destination.address, ...placesOf(context, step) }
    ),
  backward: (context, step, { destination, source }) =>
    context.emit.launch<'globalMaxPoolBackward'>(
      { kind: 'globalMaxPoolBackward', ...placedFields(step), layout: layoutCode(source!.layout) },
      { destinationGradient: destination!.address, sourceGradient: source!.address, ...placesOf(context, step) }
    )
}

const placedFields = ({ node: { input }, source }: Step<NodeFor<'globalMaxPool'>>) => ({
  ...tileFields(source),
  fullHeight: input[2],
  fullWidth: input[3]
})

const placesOf = (context: Context, step: Step<NodeFor<'globalMaxPool'>>) => {
  const { rowOrigin, columnOrigin } = originOf(step.sourceRegion)
  return { maxima: maximaAt(context, step), rowOrigin, columnOrigin }
}

const scaleOf = ({ node: { input } }: Step<NodeFor<'globalAvgPool'>>): number => 1 / (input[2] * input[3])
