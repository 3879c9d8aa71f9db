import { kernelKinds, getKernelRow, type KernelKind } from '../../staging/kernels/kernels'
import { layouts } from '../../staging/kernels/layout'

/** The tables that `npm run generate` writes into the addon's sources, as the addon was built. */
interface BuiltTables {
  readonly kernelTable: () => unknown
  readonly layoutTable: () => unknown
}

/** A kernel as an addon tells it. */
export const kernelEntry = (kind: KernelKind): unknown => {
  const { fields, operands, optional = [], inPlace = [] } = getKernelRow(kind)
  return {
    name: kind,
    fields: Object.keys(fields),
    operands: Object.entries(operands).map(([name, use]) => ({
      name,
      use,
      optional: optional.includes(name),
      inPlace: inPlace.includes(name)
    }))
  }
}

const decodeEntries = (answer: unknown): readonly unknown[] => {
  const entries = (answer as { readonly value?: unknown } | undefined)?.value
  return Array.isArray(entries) ? (entries as readonly unknown[]) : []
}

const entryName = (entry: unknown): string => String((entry as { readonly name?: unknown } | undefined)?.name)

/**
 * The first kernel or layout that an addon has otherwise than this code, in words; undefined where
 * it was built from the same tables.
 */
export const findDifference = ({ kernelTable, layoutTable }: BuiltTables): string | undefined => {
  const [kernels, built] = [decodeEntries(kernelTable()), decodeEntries(layoutTable()).map(entryName)]
  const length = Math.max(kernels.length, kernelKinds.length)
  for (let code = 0; code < length; code += 1) {
    const kind = kernelKinds[code]
    if (kind === undefined || JSON.stringify(kernels[code]) !== JSON.stringify(kernelEntry(kind)))
      return `kernel ${kind ?? entryName(kernels[code])}`
  }
  const place = Array.from({ length: Math.max(built.length, layouts.length) }).findIndex((_, code) => built[code] !== layouts[code])
  return place === -1 ? undefined : `layout ${layouts[place] ?? built[place]}`
}
