import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'

/** Parameters 0.weight [4, 3, 3, 3], 0.bias [4], 4.weight [2, 4], 4.bias [2]. */
export default model({
  name: 'small',
  input: [2, 3, 32, 32],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), globalAvgPool, linear({ out: 2 })]
})
