import { stepsAccumulate } from '../../graph/objective'
import { arenaOperand, noOperand, type UnplacedOperand } from '../ir/builder'
import { copyElements } from '../scope/copies'
import type { NodeParameters, ParameterTensor } from '../scope/parameter-tensor'
import { trainableTensors } from '../scope/parameters'
import type { ModelScope } from '../scope/scope'
import type { BoundGradients, ParameterTarget } from './bound-gradients'

const nowhere: ParameterTarget = { address: noOperand, add: () => undefined }

/**
 * Where a tile's gradients of parameters go: to their sums at once, or beside them first where
 * something is there already.
 */
export const parameterTargets = (
  { graph: { objective }, builder, parameterBytes }: Pick<ModelScope, 'graph' | 'builder' | 'parameterBytes'>,
  { sumOf, partial }: Pick<BoundGradients, 'sumOf' | 'partial'>
): ((parameters: NodeParameters | undefined, role: 'weight' | 'bias') => ParameterTarget) => {
  const adds = partial || stepsAccumulate(objective)
  const ownBuffer = ({ name, elements }: ParameterTensor, role: 'local' | 'unwanted' = 'local'): UnplacedOperand =>
    arenaOperand(
      builder.buffer({ kind: partial ? 'tile-gradient' : 'micro-batch-gradient', parameter: name }, elements * parameterBytes, role)
    )
  return (parameters, role) => {
    const parameter = parameters?.[role]
    if (parameter === undefined) return nowhere
    if (parameter.learning === undefined)
      // Kernels give a bias its gradient beside that of its weight, wanted or not.
      return role === 'weight' && trainableTensors(parameters).length > 0
        ? { ...nowhere, address: ownBuffer(parameter, 'unwanted') }
        : nowhere
    const sum = arenaOperand(sumOf(parameter))
    if (!adds) return { ...nowhere, address: sum }
    const address = ownBuffer(parameter)
    return { address, add: () => copyElements(builder.launch, parameter.elements, address, sum, 1) }
  }
}
