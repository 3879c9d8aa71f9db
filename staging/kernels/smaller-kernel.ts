import { type Kernel, getFields, getKernelRow } from './kernels'

type Numbers = Readonly<Record<string, number>>

const part = (extent: number, share: number): number => Math.max(1, Math.floor(extent * share))

/** One axis of a window with fewer outputs, and the inputs that these read. */
const windowAxis = (fields: Numbers, axis: 'Height' | 'Width', before: number, after: number, share: number): Numbers => {
  const [out, stride, window, dilation] = [`out${axis}`, `stride${axis}`, `kernel${axis}`, `dilation${axis}`].map(
    (name) => fields[name]!
  ) as [number, number, number, number]
  const outputs = part(out, share)
  const reach = (outputs - 1) * stride + (window - 1) * dilation + 1
  return { [`out${axis}`]: outputs, [`in${axis}`]: reach - before - after }
}

/** The batch that is left of a kernel, and the share of each side of its pixels. */
const shareOfSides = (batch: number, share: number): readonly [number, number] => {
  const images = part(batch, share)
  return [images, Math.min(1, Math.sqrt((share * batch) / images))]
}

const sizeFields = (kernel: Kernel): readonly string[] => {
  const { fields } = getKernelRow(kernel.kind)
  return Object.keys(fields).filter((field) => fields[field] === 'size')
}

/**
 * A kernel of the same configuration (kernel-configuration.ts) with about this share of the work,
 * between 0 and 1: fewer images, then smaller ones, as tiles of it are. Undefined where its sizes
 * depend on others in ways of its own, or would be those of no kernel.
 */
export const smallerKernel = <K extends Kernel>(kernel: K, share: number): K | undefined => {
  // Those that are read here are single numbers.
  const fields = getFields(kernel) as Numbers
  const smaller = (changed: Numbers): K => ({ ...kernel, ...changed })
  if ('outHeight' in kernel && 'kernelHeight' in kernel) {
    const [batch, side] = shareOfSides(kernel.batch, share)
    const changed = {
      ...windowAxis(fields, 'Height', kernel.padTop, kernel.padBottom, side),
      ...windowAxis(fields, 'Width', kernel.padLeft, kernel.padRight, side)
    }
    return Object.values(changed).every((extent) => extent > 0) ? smaller({ batch, ...changed }) : undefined
  }
  const sizes = sizeFields(kernel).join()
  if (sizes === 'count' || sizes === 'bytes') return smaller({ [sizes]: 4 * part(fields[sizes]! / 4, share) })
  if (sizes !== 'batch,height,width') return undefined
  const [batch, side] = shareOfSides(fields['batch']!, share)
  return smaller({ batch, height: part(fields['height']!, side), width: part(fields['width']!, side) })
}
