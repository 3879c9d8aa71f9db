import { type AnyLayer, type Model, meanSquaredError } from '../../dsl'
import { type Op, flatLayers, isLoss } from '../../dsl/internal'
import { freezeModel, mapOps } from './model-layers'

const isLossLayer = ({ op }: Pick<AnyLayer, 'op'>): boolean => isLoss(op as Op)

/**
 * The model by its running statistics, whose scores are handed out in place of its loss. Layers
 * keep their names.
 */
export const scoringModel = ({ name, layers }: Model): Model => {
  const ends = flatLayers(layers).some(isLossLayer)
  const compared = mapOps(layers, (layer) => (isLossLayer(layer) ? meanSquaredError : layer))
  return freezeModel({ name, layers: ends ? compared : [...compared, meanSquaredError] })
}
