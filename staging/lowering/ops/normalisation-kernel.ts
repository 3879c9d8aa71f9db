import { normalisationOf, type Normalisation } from '../../graph/normalisation'
import type { ModelScope } from '../scope/scope'
import { at, none } from '../ir/builder'
import { momentsAt } from './moment-addresses'
import { tileFields } from '../scope/regions'
import type { Region, TileTensor } from '../ir/tile-tensor'

/** What forward and backward of a normalisation on a tile have in common; `region`: where the tile lies in the whole tensor. */
export const normalisationKernel = (
  scope: Pick<ModelScope, 'parameters' | 'moments'>,
  node: Normalisation,
  position: number,
  source: TileTensor,
  region: Region,
  slope: number
) => {
  const { weight, bias } = scope.parameters[position] ?? {}
  return {
    fields: { ...normalisationOf(node), slope, ...tileFields(source) },
    operands: {
      source: source.address,
      moments: momentsAt(scope, node, position, region),
      weights: weight === undefined ? none : at(weight.buffer),
      bias: bias === undefined ? none : at(bias.buffer)
    }
  }
}
