import { pipe } from 'fp-ts/function'
import { batchNorm, checkpoint, conv2d, dropout, groupNorm, input, leakyRelu, maxPool2d, model, relu, resize, tile } from '../../dsl'

// expects: conv2d has no option kernel; did you mean k?
conv2d({ out: 8, kernel: 3, p: 1 })

// expects: conv2d has no option kernel_size; did you mean k?
conv2d({ out: 8, k: 3, kernel_size: 3 })

// expects: conv2d has no option outputPadding; it takes out, k, s, p, d, groups, bias
conv2d({ out: 8, k: 3, outputPadding: 1 })

// expects: conv2d: give its options by name, such as conv2d({ out: ... })
conv2d(64)

// expects: maxPool2d: give its options by name, such as maxPool2d({ k: ... })
maxPool2d(2)

// expects: conv2d: k is missing
conv2d({ out: 8 })

// expects: conv2d: out is missing
conv2d({ k: 3, p: 1 })

/** What must be given is not undefined. */
export const optional = (out?: number) =>
  // expects: Type 'number | undefined' is not assignable to type 'number'
  conv2d({ out, k: 3 })

// expects: groupNorm: groups is missing
groupNorm({ affine: false })

// expects: dropout has no option p; did you mean rate?
dropout({ p: 0.5 })

// expects: maxPool2d has no option ceil_mode; did you mean ceilMode?
maxPool2d({ k: 2, ceil_mode: true })

// expects: resize has no option align_corners; did you mean alignCorners?
resize({ mode: 'bilinear', size: 8, align_corners: true })

// expects: leakyRelu has no option negative_slope; did you mean slope?
leakyRelu({ negative_slope: 0.1 })

// expects: Type 'string' is not assignable to type 'Pair | undefined'
conv2d({ out: 8, k: '3' })

// expects: is not assignable to type 'Padding | undefined'
conv2d({ out: 8, k: 3, p: [1, 1, 2] })

// expects: relu: takes no options; write relu alone
relu({ inplace: true })

// expects: checkpoint: takes no options; a budget is for checkpointWithin
checkpoint(1000)

/** A mistake in an option is told once, wherever the layer stands. */
export const listed = model({
  name: 'listed',
  input: [1, 3, 64, 64],
  layers: [
    relu,
    // expects: tile has no option h; did you mean H?
    tile({ h: 4 }),
    // expects: conv2d has no option stride; did you mean s?
    conv2d({ out: 8, k: 3, stride: 2 }),
    // expects: dropout has no option p; did you mean rate?
    dropout({ p: 0.5 }),
    // expects: the function batchNorm is not a layer; call it, as in batchNorm()
    batchNorm,
    // expects: the function conv2d is not a layer; call it, as in conv2d()
    conv2d
  ]
})

// expects: relu: takes a tensor, not the layer batchNorm; in a pipe write batchNorm()
pipe(input([1, 3, 8, 8]), batchNorm, relu)
