import type { Builder } from '../ir/builder'
import type { CostBuilder } from './cost-builder'

/**
 * A builder of whose launches and exchanges a cost builder is told too, each once: of code without
 * loops.
 */
export const watchedBuilder = (builder: Builder, watch: CostBuilder): Builder => ({
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
  }
})
