import { fieldNames, type Kernel } from './kernels'

/**
 * Fields that only say how much there is to do, where it lies, or by what to multiply; kernels that
 * agree in all others are one family.
 */
const sizes: ReadonlySet<string> = new Set<string>([
  'inHeight',
  'inWidth',
  'outHeight',
  'outWidth',
  'padTop',
  'padBottom',
  'padLeft',
  'padRight',
  'height',
  'width',
  'fullHeight',
  'fullWidth',
  'fullInHeight',
  'fullInWidth',
  'fullOutHeight',
  'fullOutWidth',
  'fullBatch',
  'count',
  'bytes',
  'strideBatch',
  'strideChannel',
  'layerKey',
  'scale',
  'slope',
  'batch',
  ...fieldNames.copyBox.filter((field) => field !== 'add')
])

const fieldOf = (kernel: Kernel, field: string): number => (kernel as unknown as Readonly<Record<string, number>>)[field] ?? 1

/** `strideHeight` is a window's step in some kernels, and a tensor's pitch in others. */
const isSize = (kernel: Kernel, field: string): boolean => sizes.has(field) || (field === 'strideHeight' && !('strideWidth' in kernel))

/**
 * A name for all kernels that differ from this one in sizes only, and run at about the same rate
 * where these are alike.
 */
export const familyOf = (kernel: Kernel): string => {
  const shape = fieldNames[kernel.kind].filter((field) => !isSize(kernel, field))
  return [kernel.kind, ...shape.map((field) => fieldOf(kernel, field))].join(' ')
}
