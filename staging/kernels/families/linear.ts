import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

/** Linear layers. */
export const linearKernels = {
  /** y[b, o] = sum_i x[b, i] w[o, i] + bias[o]; everything plain. */
  linearForward: {
    fields: fields.linear,
    operands: { source: 'read', weights: 'read', bias: 'read', destination: 'write' },
    optional: ['bias']
  },
  linearBackwardData: {
    fields: fields.linear,
    operands: { destinationGradient: 'read', weights: 'read', sourceGradient: 'write' }
  },
  linearBackwardWeights: {
    fields: fields.linear,
    operands: { source: 'read', destinationGradient: 'read', weightGradient: 'write', biasGradient: 'write' },
    optional: ['biasGradient']
  }
} as const satisfies KernelRows
