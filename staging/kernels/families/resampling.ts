import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

/** Absolute coordinates of the first row and column of the tiles of input and output. */
const resampledAt = { sourceRow: 'index', sourceColumn: 'index', destinationRow: 'index', destinationColumn: 'index' } as const

/** What maps absolute coordinates between whole tensors: resizing, adaptive pooling, padding. */
export const resamplingKernels = {
  /** Resamples as torch.nn.functional.interpolate: bilinear 0 is nearest. */
  resizeForward: {
    fields: fields.resize,
    operands: { source: 'read', destination: 'write', ...resampledAt }
  },
  resizeBackward: {
    fields: fields.resize,
    operands: { destinationGradient: 'read', sourceGradient: 'write', ...resampledAt }
  },
  /**
   * Row o of the output is the mean over rows floor(o H / O) to ceil((o + 1) H / O), and a column
   * of it the mean over such columns.
   */
  adaptivePoolForward: { fields: fields.resampled, operands: { source: 'read', destination: 'write', ...resampledAt } },
  adaptivePoolBackward: { fields: fields.resampled, operands: { destinationGradient: 'read', sourceGradient: 'write', ...resampledAt } },
  /** Pads as torch.nn.functional.pad, at absolute coordinates of the whole tensors. */
  padForward: { fields: fields.pad, operands: { source: 'read', destination: 'write', ...resampledAt } },
  padBackward: { fields: fields.pad, operands: { destinationGradient: 'read', sourceGradient: 'write', ...resampledAt } }
} as const satisfies KernelRows
