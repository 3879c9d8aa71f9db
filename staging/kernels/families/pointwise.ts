import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

/** Each element by itself: rectifiers, sums, dropout, and expressions. */
export const pointwiseKernels = {
  /** y = x > 0 ? x : slope x; relu has slope 0. */
  rectifierForward: { fields: fields.rectifier, operands: { source: 'read', destination: 'write' }, inPlace: ['source'] },
  /** From the output's sign (slope >= 0), so that the input need not be kept. */
  rectifierBackward: {
    fields: fields.rectifier,
    operands: { destination: 'read', destinationGradient: 'read', sourceGradient: 'write' },
    inPlace: ['destinationGradient']
  },
  /** destination = rectified(first + second). */
  addForward: { fields: fields.rectifier, operands: { first: 'read', second: 'read', destination: 'write' }, inPlace: ['first', 'second'] },
  /**
   * destination = keep(element) ? source / (1 - rate) : 0, forward and backward alike. keep is a
   * counter-based draw keyed by (seed, step, layerKey, absolute plain element of the tensor
   * [fullChannels, fullHeight, fullWidth]).
   */
  dropout: {
    fields: fields.dropout,
    operands: { source: 'read', destination: 'write', batchOrigin: 'index', rowOrigin: 'index', columnOrigin: 'index' },
    inPlace: ['source']
  },
  /**
   * Each element by itself: `source` is the expression's input. `second`: a tile of the same form,
   * or plain [batch, channels].
   */
  pointwiseForward: {
    fields: fields.pointwise,
    operands: { source: 'read', second: 'read', weight: 'read', bias: 'read', destination: 'write' },
    optional: ['second', 'weight', 'bias'],
    inPlace: ['source']
  },
  /**
   * The gradient of one of the inputs. `kept` is the expression's input, destinationGradient its
   * gradient.
   */
  pointwiseBackward: {
    fields: fields.pointwise,
    operands: { kept: 'read', second: 'read', weight: 'read', bias: 'read', destinationGradient: 'read', sourceGradient: 'write' },
    optional: ['kept', 'second', 'weight', 'bias'],
    inPlace: ['destinationGradient']
  },
  /**
   * Sums of an expression as of pointwiseBackward, of parameters' type where `rows` is below 2: the
   * gradient of what is broadcast.
   */
  pointwiseSum: {
    fields: fields.pointwiseSum,
    operands: { kept: 'read', second: 'read', weight: 'read', bias: 'read', destinationGradient: 'read', sum: 'write' },
    optional: ['kept', 'second', 'weight', 'bias']
  }
} as const satisfies KernelRows
