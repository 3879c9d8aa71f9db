import { kernelTable, type Kernel, type KernelKind } from '../kernels/kernels'
import type { Use } from '../kernels/kernel-row'
import type { ElementSizes } from '../kernels/precision'
import { convolutionRegions } from './regions/convolution'
import { linearRegions } from './regions/linear'
import { lossRegions } from './regions/loss'
import { copiesWholeBlocks, movementRegions } from './regions/movement'
import { normalisationRegions } from './regions/normalisation'
import { normalisedConvolutionRegions } from './regions/normalised-convolution'
import { optimizerRegions } from './regions/optimizer'
import { pointwiseRegions } from './regions/pointwise'
import { poolingRegions } from './regions/pooling'
import { resamplingRegions } from './regions/resampling'
import type { ByteRegion, RegionRows } from './regions/region'

/** The regions of each kernel's operands; native/src/program/operand.cpp says the same in C++. */
const rows: RegionRows<KernelKind> = {
  ...convolutionRegions,
  ...linearRegions,
  ...pointwiseRegions,
  ...poolingRegions,
  ...normalisationRegions,
  ...resamplingRegions,
  ...movementRegions,
  ...lossRegions,
  ...optimizerRegions,
  ...normalisedConvolutionRegions
}

/** The bytes that a kernel touches of an operand, and what it does with them. */
export interface OperandRegion {
  readonly name: string
  readonly use: Use
  readonly region: ByteRegion
}

/**
 * Tells whether a kernel overwrites an operand that the table calls accumulated: it does where it
 * does not add, and writes all of its region.
 */
const overwrites = (kernel: Kernel): boolean => {
  switch (kernel.kind) {
    case 'copyBox':
    case 'normaliseBackward':
      return kernel.add === 0
    case 'copyChannels':
      return kernel.add === 0 && copiesWholeBlocks(kernel)
    default:
      return false
  }
}

/** The operands of a kernel in order, with what it touches of each. */
export const operandRegions = (kernel: Kernel, { activationBytes, parameterBytes }: ElementSizes): readonly OperandRegion[] => {
  // The row of a kernel's own kind takes that kernel.
  const row = rows[kernel.kind] as (kernel: Kernel, activationBytes: number, parameterBytes: number) => Readonly<Record<string, ByteRegion>>
  const regions = row(kernel, activationBytes, parameterBytes)
  const written = overwrites(kernel)
  return Object.entries(kernelTable[kernel.kind].operands).map(([name, use]) => ({
    name,
    use: written && use === 'accumulate' ? 'write' : use,
    region: regions[name]!
  }))
}
