import type { Fields } from './kernel-fields'

/**
 * How a kernel uses an operand, which is an address, or for `index` a number itself (an absolute
 * coordinate). `accumulate` reads and writes.
 */
export type Use = 'read' | 'write' | 'accumulate' | 'scratch' | 'index'

/**
 * A kernel's declaration: its numeric fields and its operands, both in order. Extents are in
 * elements, offsets in bytes; layouts are codes of staging/kernels/layout.ts.
 */
export interface KernelRow {
  readonly fields: Fields
  readonly operands: { readonly [operand: string]: Use }
  /** Operands that may be absent: they then stand in space `none`. */
  readonly optional?: readonly string[]
  /** Operands that may lie exactly where the kernel writes, unless it adds there. */
  readonly inPlace?: readonly string[]
}

/** The kernels of one family, by name. */
export type KernelRows = { readonly [kind: string]: KernelRow }
