import { windowOf } from '../../../dsl'
import { pixelReductionAccess } from '../../access'
import { layoutCode } from '../../layout'
import { windowFields, type Step } from '../context'
import { tileFields } from '../tensors'
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

const scaleOf = ({ node: { input } }: Step<NodeFor<'globalAvgPool'>>): number => 1 / (input[2] * input[3])
