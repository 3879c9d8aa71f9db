import { map } from 'fp-ts/Record'
import type { KernelRow } from './kernel-row'
import { getFields, kernelTable, type Kernel, type KernelKind } from './kernels'

const configuringFields = map(({ fields }: KernelRow): readonly string[] =>
  Object.keys(fields).filter((field) => fields[field] !== 'size' && fields[field] !== 'multiplier')
)<KernelKind>(kernelTable)

/**
 * Returns a key that is the same for all kernels that differ from this one in sizes and multipliers
 * only (kernel-fields.ts), and so run at about the same rate where these are alike.
 */
export const configurationKey = (kernel: Kernel): string => {
  const values = getFields(kernel)
  return [kernel.kind, ...configuringFields[kernel.kind].map((field) => values[field] ?? 1)].join(' ')
}
