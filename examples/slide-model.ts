/** A small U-Net with batch normalisation: three levels, three classes. */
import { batchNorm, conv2d, convTranspose2d, denseBlock, maxPool2d, model, named, relu, seq } from 'tilefold/dsl'

const convolutions = <const C extends number>(out: C) =>
  seq('convolutions', [
    conv2d({ out, k: 3, p: 1, bias: false }),
    batchNorm(),
    relu,
    conv2d({ out, k: 3, p: 1, bias: false }),
    batchNorm(),
    relu
  ])

const down = maxPool2d({ k: 2 })

export default model({
  name: 'small-unet',
  input: [2, 3, 256, 256],
  layers: [
    seq('encoder1', [convolutions(12)]),
    denseBlock([
      seq('encoder2', [down, convolutions(24)]),
      denseBlock([seq('bottom', [down, convolutions(48), convTranspose2d({ out: 24, k: 2, s: 2 })])]),
      seq('decoder2', [convolutions(24), convTranspose2d({ out: 12, k: 2, s: 2 })])
    ]),
    seq('decoder1', [convolutions(12)]),
    named('scores', conv2d({ out: 3, k: 1 }))
  ]
})
