import type { Builder } from '../ir/builder'
import type { CostBuilder } from './cost-builder'

/** A builder of whose launches and exchanges a cost builder is told too. */
export const watchedBuilder = (builder: Builder, watch: CostBuilder): Builder => {
  const loop: Builder['loop'] = (axis, count, body) => watch.loop(axis, count, () => builder.loop(axis, count, body))
  return {
    ...builder,
    launch: (kernel, operands) => {
      watch.launch(kernel, operands)
      builder.launch(kernel, operands)
    },
    load: (kernel, operands) => {
      watch.load(kernel, operands)
      builder.load(kernel, operands)
    },
    allToAll: (one) => {
      watch.allToAll(one)
      builder.allToAll(one)
    },
    exchange: (one) => {
      watch.exchange(one)
      builder.exchange(one)
    },
    loop,
    pairs: (axis, count, body) => {
      if (count > 1)
        loop(axis, count >> 1, () => {
          body(0)
          body(1)
        })
      if (count % 2 === 1) body(0)
    }
  }
}
