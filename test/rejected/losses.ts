import { pipe } from 'fp-ts/function'
import { globalAvgPool, input, linear, meanSquaredError, net, relu, softmaxCrossEntropy } from '../../dsl'

const x = input([2, 3, 8, 8])

// expects: softmaxCrossEntropy: takes scores BxN, not 2x3x8x8
net(x, [relu, softmaxCrossEntropy])

// expects: softmaxCrossEntropy: takes scores BxN, not a scalar
net(x, [meanSquaredError, softmaxCrossEntropy])

// expects: relu: nothing can follow a loss
pipe(x, globalAvgPool, linear({ out: 2 }), softmaxCrossEntropy, relu)

// expects: meanSquaredError: nothing can follow a loss
pipe(x, meanSquaredError, meanSquaredError)
