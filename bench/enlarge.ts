import type { Kernel } from '../staging'

/**
 * Of a kernel's fields that say how much there is to do, the first here is the one that grows: more
 * images keep the shape of what each of them is.
 */
const growing = ['batch', 'count', 'bytes', 'outChannels', 'channels', 'rows', 'images'] as const

/**
 * The same kernel with at least so many times its work, in whole images where it has any; itself
 * where `times` is at most 1.
 */
export const enlarge = (kernel: Kernel, times: number): Kernel => {
  const whole = Math.ceil(times)
  if (!(whole > 1)) return kernel
  if (kernel.kind === 'copyBox') {
    const { n1, n2, n3, sourceStride1, sourceStride2, destinationStride1, destinationStride2 } = kernel
    // The stride of an axis of one place may be anything: copies must not overlap.
    const span = (first: number, second: number): number => (n1 - 1) * first + (n2 - 1) * second + n3
    return {
      ...kernel,
      n0: kernel.n0 * whole,
      sourceStride0: Math.max(kernel.sourceStride0, span(sourceStride1, sourceStride2)),
      destinationStride0: Math.max(kernel.destinationStride0, span(destinationStride1, destinationStride2))
    }
  }
  const fields = kernel as unknown as Readonly<Record<string, number>>
  const grown = (name: string): object => (name in fields ? { [name]: fields[name]! * whole } : {})
  const chosen = growing.find((name) => name in fields)
  if (chosen === undefined) return kernel
  // What is said of whole tensors must hold the part, and groups keep their channels.
  const ofGroups = fields['groups']! > 1 ? ['inChannels', 'groups'] : []
  const others = chosen === 'batch' ? ['fullBatch'] : chosen === 'outChannels' ? ['sourceOutChannels', ...ofGroups] : []
  return { ...kernel, ...Object.assign({}, ...[chosen, ...others].map(grown)) } as Kernel
}
