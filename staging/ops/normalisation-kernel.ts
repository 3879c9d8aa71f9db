import type { NormalisationNode } from '../graph/statistics'
import { arenaOperand, noOperand } from '../lowering/ir/builder'
import type { Region, TileTensor } from '../lowering/ir/tile-tensor'
import { tileFields } from '../lowering/scope/regions'
import type { ModelScope } from '../lowering/scope/scope'
import { momentsAt } from './moment-addresses'

/**
 * Returns the fields that forward and backward of a normalisation on a tile have in common;
 * `region` is the tile's place in the whole tensor.
 */
export const normalisationKernel = (
  scope: Pick<ModelScope, 'parameters' | 'moments'>,
  node: NormalisationNode,
  position: number,
  source: TileTensor,
  region: Region,
  slope: number
) => {
  const { weight, bias } = scope.parameters[position] ?? {}
  const { groups, perImage, epsilon } = node.statistics
  return {
    fields: { groups, perImage, epsilon, slope, ...tileFields(source) },
    operands: {
      source: source.address,
      moments: momentsAt(scope, node, position, region),
      weights: weight === undefined ? noOperand : arenaOperand(weight.buffer),
      bias: bias === undefined ? noOperand : arenaOperand(bias.buffer)
    }
  }
}
