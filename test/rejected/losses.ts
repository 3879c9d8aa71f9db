import { pipe } from 'fp-ts/function'
import {
  classLoss,
  globalAvgPool,
  input,
  linear,
  meanSquaredError,
  net,
  overlapLoss,
  pixelCrossEntropy,
  pixelLoss,
  relu,
  softmaxCrossEntropy,
  tile,
  valueLoss
} from '../../dsl'

const x = input([2, 3, 8, 8])

// expects: softmaxCrossEntropy: takes scores BxN, not 2x3x8x8
net(x, [relu, softmaxCrossEntropy])

// expects: softmaxCrossEntropy: takes scores BxN, not a scalar
net(x, [meanSquaredError, softmaxCrossEntropy])

// expects: relu: nothing can follow a loss
pipe(x, globalAvgPool, linear({ out: 2 }), softmaxCrossEntropy, relu)

// expects: meanSquaredError: nothing can follow a loss
pipe(x, meanSquaredError, meanSquaredError)

// expects: pixelCrossEntropy: takes scores BxNxHxW, not 2x3
net(x, [globalAvgPool, pixelCrossEntropy()])

// expects: pixelCrossEntropy: has 2 class weights for 3 classes
net(x, [pixelCrossEntropy({ classWeights: [1, 2] })])

// expects: pixelCrossEntropy: class weights must be at least 0
net(x, [pixelCrossEntropy({ classWeights: [1, -2, 1] })])

// expects: pixelCrossEntropy: one of the class weights must be above 0
net(x, [pixelCrossEntropy({ classWeights: [0, 0, 0] })])

// expects: pixelCrossEntropy: the ignored label must be a whole number
pipe(x, pixelCrossEntropy({ ignore: 0.5 }))

// expects: classLoss: takes scores BxN, not 2x3x8x8
net(x, [relu, classLoss({ loss: 'focal' })])

// expects: classLoss: has 2 class weights for 3 classes
net(x, [globalAvgPool, classLoss({ loss: 'focal', classWeights: [1, 2] })])

// expects: pixelLoss: takes scores BxNxHxW, not 2x3
net(x, [globalAvgPool, pixelLoss({ loss: 'focal' })])

// expects: overlapLoss: the ignored label must be a whole number
pipe(x, overlapLoss({ loss: 'dice', ignore: 0.5 }))

// expects: tile: cannot tile along H; overlapLoss needs the statistics of the whole tensor before it
net(x, [relu, overlapLoss({ loss: 'dice' }), tile({ H: 2 })])

// expects: valueLoss: nothing can follow a loss
net(x, [meanSquaredError, valueLoss({ loss: 'huber' })])
