import type { ArgsOf } from '../../dsl/internal'
import { sameAccess } from '../graph/access'
import { activationElements } from '../kernels/layout'
import type { OpStep } from '../lowering/scope/op-step'
import { originOperands, tileFields } from '../lowering/scope/regions'
import type { TileScope } from '../lowering/scope/scope'
import { sameLayout, type NodeFor, type OpLowering } from './op-lowering'

/**
 * relu and leakyRelu; backward reads the output's sign, so that forward may overwrite its input.
 */
const rectifier = <P extends 'relu' | 'leakyRelu'>(negativeSlope: (args: ArgsOf<P>) => number): OpLowering<P> => {
  const fields = ({ source, node }: OpStep) => ({
    count: activationElements(source.layout, source.extents),
    slope: negativeSlope(node.args as ArgsOf<P>)
  })
  return {
    access: sameAccess,
    saves: { output: true },
    inPlace: true,
    slope: negativeSlope,
    outputLayout: sameLayout,
    forward: ({ builder }, step) =>
      builder.launch<'rectifierForward'>(
        { kind: 'rectifierForward', ...fields(step) },
        { source: step.source.address, destination: step.destination.address }
      ),
    backward: ({ builder }, step, { destination, source }) =>
      builder.launch<'rectifierBackward'>(
        { kind: 'rectifierBackward', ...fields(step) },
        { destination: step.destination.address, destinationGradient: destination!.address, sourceGradient: source!.address }
      )
  }
}

/** max(x, 0); its gradient is 0 at 0. */
export const relu = rectifier<'relu'>(() => 0)
/** x above 0, slope x below. */
export const leakyRelu = rectifier<'leakyRelu'>(({ slope = 0.01 }) => slope)

const dropoutFields = ({ graph }: TileScope, { node, source }: OpStep<NodeFor<'dropout'>>) => ({
  ...tileFields(source),
  fullChannels: node.input[1],
  fullHeight: node.input[2],
  fullWidth: node.input[3],
  layerKey: graph.nodes.indexOf(node),
  rate: node.args.rate
})

/**
 * The mask is drawn again in backward from absolute coordinates, so nothing is kept and tiles agree
 * where they overlap.
 */
export const dropout: OpLowering<'dropout'> = {
  access: sameAccess,
  inEvaluation: () => ({ rate: 0 }),
  withoutRandomness: () => ({ rate: 0 }),
  saves: {},
  inPlace: true,
  outputLayout: sameLayout,
  forward: (scope, step) =>
    scope.builder.launch<'dropout'>(
      { kind: 'dropout', ...dropoutFields(scope, step) },
      { source: step.source.address, destination: step.destination.address, ...originOperands(step.sourceRegion) }
    ),
  backward: (scope, step, { destination, source }) =>
    scope.builder.launch<'dropout'>(
      { kind: 'dropout', ...dropoutFields(scope, step) },
      { source: destination!.address, destination: source!.address, ...originOperands(step.sourceRegion) }
    )
}
