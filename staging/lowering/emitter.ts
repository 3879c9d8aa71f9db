import { encodeKernel, kernelTable, type Kernel, type KernelKind, type KernelOf, type OperandsOf } from '../kernels'
import type { BufferRole, Engine, TileAxis } from '../program'

/** A range of the arena that placement has yet to give an address. */
export interface Buffer {
  readonly id: number
  readonly name: string
  readonly bytes: number
  readonly scope: BufferRole
}

export type Strides = readonly [number, number, number]

/** An operand before placement: bytes into a buffer or the exchange buffer, or an index; strides per tile along B, H, W. */
export type Virtual =
  | { readonly space: 'none' }
  | { readonly space: 'arena'; readonly buffer: Buffer; readonly base: number; readonly strides: Strides }
  | { readonly space: 'exchange' | 'index'; readonly base: number; readonly strides: Strides }

export type VirtualInstruction =
  | { readonly kind: 'launch'; readonly kernel: number; readonly operands: readonly Virtual[]; readonly seed?: number }
  | { readonly kind: 'loop'; readonly axis: TileAxis; readonly count: number; readonly body: readonly VirtualInstruction[] }
  | { readonly kind: 'copy'; readonly engine: Exclude<Engine, 'compute'>; readonly device: Buffer; readonly host: Buffer }
  /** A wait may end a transfer: what that read, on the device or on the host, must stay until here. */
  | { readonly kind: 'record' | 'wait'; readonly engine: Engine; readonly event: number; readonly device?: Buffer; readonly host?: Buffer }

export const still: Strides = [0, 0, 0]
export const none: Virtual = { space: 'none' }
export const at = (buffer: Buffer, base = 0, strides: Strides = still): Virtual => ({ space: 'arena', buffer, base, strides })
export const exchanged = (base: number, strides: Strides = still): Virtual => ({ space: 'exchange', base, strides })
export const index = (base: number, stride: Strides): Virtual => ({ space: 'index', base, strides: stride })

/** Distinct kernels in order of first use, and buffer identities, shared by all that is emitted for one graph. */
export interface Pool {
  readonly kernels: readonly Kernel[]
  readonly intern: (kernel: Kernel) => number
  readonly freshBuffer: () => number
}

export const openPool = (): Pool => {
  const kernels: Kernel[] = []
  const indices = new Map<string, number>()
  let buffers = 0
  return {
    kernels,
    freshBuffer: () => buffers++,
    intern: (kernel) => {
      const key = encodeKernel(kernel).join(' ')
      const known = indices.get(key)
      if (known !== undefined) return known
      indices.set(key, kernels.length)
      return kernels.push(kernel) - 1
    }
  }
}

/** Collects instructions in program order; the one place of staging that grows a list as it goes. */
export interface Emitter {
  readonly buffer: (name: string, bytes: number, scope?: Buffer['scope']) => Buffer
  /** The next launch that reads this output gradient begins a tile's backward. */
  readonly seed: (gradient: Buffer) => void
  readonly launch: <K extends KernelKind>(kernel: KernelOf<K>, operands: { readonly [O in OperandsOf<K>]: Virtual }) => void
  /** Runs `body` for tile indices 0 .. count - 1 of `axis`; a single tile needs no loop. */
  readonly loop: (axis: TileAxis, count: number, body: () => void) => void
  readonly code: () => readonly VirtualInstruction[]
  /** A moment of the step begins (see HostStay in plan.ts); only its first time outside of loops counts. */
  readonly moment: (moment: number) => void
  /** The position in `code` at which each moment that came begins. */
  readonly moments: () => ReadonlyMap<number, number>
}

export const emitter = (pool: Pool): Emitter => {
  let current: VirtualInstruction[] = []
  let seeding: Buffer | undefined
  let depth = 0
  const moments = new Map<number, number>()
  return {
    buffer: (name, bytes, scope = 'local') => ({ id: pool.freshBuffer(), name, bytes, scope }),
    seed: (gradient) => {
      seeding = gradient
    },
    launch: (kernel, operands) => {
      const named = operands as Readonly<Record<string, Virtual>>
      const uses = Object.entries(kernelTable[kernel.kind].operands)
      const inOrder = uses.map(([name]) => named[name]!)
      const reads = (operand: Virtual, position: number): boolean =>
        operand.space === 'arena' && operand.buffer === seeding && uses[position]![1] === 'read'
      const seed = seeding === undefined ? -1 : inOrder.findIndex(reads)
      if (seed !== -1) seeding = undefined
      current.push({
        kind: 'launch',
        kernel: pool.intern(kernel as unknown as Kernel),
        operands: inOrder,
        ...(seed === -1 ? {} : { seed })
      })
    },
    loop: (axis, count, body) => {
      if (count === 1) return body()
      const outer = current
      current = []
      depth++
      body()
      depth--
      outer.push({ kind: 'loop', axis, count, body: current })
      current = outer
    },
    code: () => current,
    moment: (moment) => {
      if (depth === 0 && !moments.has(moment)) moments.set(moment, current.length)
    },
    moments: () => moments
  }
}
