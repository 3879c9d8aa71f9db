import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../../../dsl'

const block = [conv2d({ out: 8, k: 3, p: 1 }), relu] as const

/** What the plans of this folder are for. */
export default model({
  name: 'net',
  input: [1, 3, 64, 64],
  layers: [...block, ...block, ...block, maxPool2d({ k: 2 }), ...block, ...block, ...block, globalAvgPool, linear({ out: 2 })]
})
