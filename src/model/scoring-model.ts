import { type Model, meanSquaredError } from '../../dsl'
import { freezeModel, isLossLayer, mapOps } from './model-layers'
import { endsInLoss } from './model-loss'

/**
 * The model by its running statistics, whose scores are handed out in place of its loss. Layers
 * keep their names.
 */
export const scoringModel = (model: Model): Model => {
  const { name, layers } = model
  const compared = mapOps(layers, (layer) => (isLossLayer(layer) ? meanSquaredError : layer))
  return freezeModel({ name, layers: endsInLoss(model) ? compared : [...compared, meanSquaredError] })
}
