import { pipe } from 'fp-ts/function'
import { checkpoint, checkpointWithin, conv2d, input, net, relu } from '../../dsl'

const x = input([1, 3, 224, 224])
const convolution = conv2d({ out: 64, k: 3, p: 1 })

// expects: this segment holds 12845056 bytes, over the budget of 8000000
pipe(x, convolution, relu, checkpointWithin(8000000))

// expects: this segment holds 25690112 bytes, over the budget of 25690111
net(x, [convolution, relu, checkpoint, convolution, convolution, checkpointWithin(25690111), relu])

// expects: this segment holds 13743895347200 bytes, over the budget of 13743895347199
net(input([8, 3, 81920, 81920]), [conv2d({ out: 64, k: 1 }), checkpointWithin(13743895347199)])
