import { hasTarget } from '../../graph/graph'
import { runForward } from '../../ops'
import type { OpStep } from '../scope/op-step'
import { inStepIo } from '../scope/regions'
import type { TileScope } from '../scope/scope'
import { exportsLoss } from '../scope/step-io'

/**
 * Hands out the best class of each of a tile's pixels, and adds their loss where there is a target.
 */
const exportClasses = (scope: TileScope, step: OpStep): void => {
  const { node, source, sourceRegion } = step
  const [images, channels, fullHeight, fullWidth] = node.input
  const { fields, address } = inStepIo(source, [images, 1, fullHeight, fullWidth], sourceRegion, scope.stepIo.classes, 1)
  const { batch, height, width, layout } = fields
  scope.builder.launch<'argmaxChannels'>(
    { kind: 'argmaxChannels', batch, channels, height, width, layout, fullHeight, fullWidth },
    { source: source.address, classes: address }
  )
  if (exportsLoss(scope.graph)) runForward(scope, step)
}

/**
 * In place of a loss, in an evaluation: hands out what it reads, of pixels the best class, and adds
 * the loss where there is a target.
 */
export const exportPrediction = (scope: TileScope, step: OpStep): void => {
  const { node, source, sourceRegion } = step
  if (hasTarget(node, 'pixel-labels')) return exportClasses(scope, step)
  const { fields, address } = inStepIo(source, node.input, sourceRegion, scope.stepIo.scores, scope.parameterBytes)
  scope.builder.launch<'unpackAddTile'>({ kind: 'unpackAddTile', ...fields }, { source: source.address, destination: address })
  if (exportsLoss(scope.graph)) runForward(scope, step)
}
