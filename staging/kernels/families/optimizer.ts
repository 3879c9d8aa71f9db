import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

/** The update of weights, and the norm of gradients. */
export const optimizerKernels = {
  /**
   * Updates as torch.optim.SGD: g += weightDecay w; m = step == 0 ? g : momentum m + g; w -= rate
   * m. Without momentum, `velocity` is absent.
   */
  sgd: { fields: fields.sgd, operands: { weights: 'accumulate', gradient: 'read', velocity: 'accumulate' }, optional: ['velocity'] },
  /**
   * Updates as torch.optim.Adam (decoupled 0) and AdamW (decoupled 1); bias correction by step + 1.
   */
  adam: {
    fields: fields.adam,
    operands: { weights: 'accumulate', gradient: 'read', firstMoment: 'accumulate', secondMoment: 'accumulate' }
  },
  /** sum (one float64) += the squares of all elements, in double. */
  sumSquares: { fields: fields.count, operands: { source: 'read', sum: 'accumulate' } },
  /**
   * Clips as torch.nn.utils.clip_grad_norm_: gradient *= min(1, maxNorm / (sqrt(sumSquares) +
   * 1e-6)); sumSquares: one float64.
   */
  clipGradient: { fields: fields.clipGradient, operands: { sumSquares: 'read', gradient: 'accumulate' } },
  /** The square roots of `count` float64. */
  squareRoot: { fields: fields.count, operands: { source: 'read', destination: 'write' } }
} as const satisfies KernelRows
