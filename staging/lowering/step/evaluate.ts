import { forEvaluation, withoutTarget } from '../../ops/build-graph'
import { hasTarget } from '../../graph/graph'
import type { Objective } from '../../graph/objective'
import { elementCount } from '../../graph/extents'
import { createBoundaries } from '../segment/bind'
import type { ModelScope } from '../scope/scope'
import { stepIoOperand, type Builder } from '../ir/builder'
import { layoutEvaluationIo, exportsLoss } from '../scope/step-io'
import { createMoments } from '../../ops/create-moments'
import { emitForward } from '../segment/forward'
import type { SegmentCode } from '../segment/segment-code'
import { createPasses } from '../tile/pass'

/** Losses of an update are means over its micro-batches; an evaluation's is of the batch alone. */
const ofOneBatch = (objective: Objective): Objective => (objective.kind === 'train' ? { ...objective, accumulate: 1 } : objective)

/**
 * Forward alone through a step's segments, in tensors of its own: nothing is kept, dropout is off,
 * batches are normalised by running statistics, and the loss's input is handed out, of pixels the
 * best class, beside their loss where there is a target for them.
 */
export const emitEvaluation = (training: ModelScope, builder: Builder, codes: readonly SegmentCode[]): void => {
  const stepIo = layoutEvaluationIo(training.graph, training.device).offsets
  const evaluated = { ...forEvaluation(training.graph), objective: ofOneBatch(training.graph.objective) }
  const graph = exportsLoss(training.graph) ? evaluated : withoutTarget(evaluated)
  const scope: ModelScope = { ...training, builder, stepIo, graph, moments: createMoments({ graph, builder }) }
  const loss = graph.nodes[graph.nodes.length - 1]!
  const between = createBoundaries(
    scope,
    codes.map(({ segment }) => segment),
    false
  )
  if (exportsLoss(training.graph))
    for (const sum of new Set([stepIo.loss, stepIo.lossOfOverlap]))
      builder.launch<'zero'>({ kind: 'zero', bytes: 16 }, { destination: stepIoOperand(sum) })
  // Tiles add their scores.
  if (!hasTarget(loss, 'pixel-labels'))
    builder.launch<'zero'>(
      { kind: 'zero', bytes: elementCount(loss.input) * scope.parameterBytes },
      { destination: stepIoOperand(stepIo.scores) }
    )
  codes.forEach((code) => {
    const passIn = createPasses(scope, code.segment)
    emitForward(scope, { ...code, ...between, passIn }, passIn('evaluate'))
  })
}
