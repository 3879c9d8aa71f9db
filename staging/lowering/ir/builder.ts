import { map } from 'fp-ts/Record'
import type { BufferIdentity } from './buffer-identity'
import type { KernelRow, Use } from '../../kernels/kernel-row'
import { encodeKernel, kernelTable, type Kernel, type KernelKind, type KernelOf, type OperandsOf } from '../../kernels/kernels'
import { tileAxes, type Copy, type Engine, type TileAxis } from '../../program/program'
import type { AllToAll, Exchange, Message, OwnSlice } from '../../program/rank-instructions'
import type { BufferRole, TensorShare } from '../../program/program-buffer'

/** A range of the arena that placement has yet to give an address. */
export interface Buffer {
  readonly id: number
  readonly identity: BufferIdentity
  readonly bytes: number
  readonly role: BufferRole
  readonly share?: TensorShare
}

/** Steps per tile along B, H, W; of operands in bytes. */
export type Strides = readonly [number, number, number]

/**
 * An operand before placement: bytes into a buffer or the I/O buffer, or an index; strides per
 * tile along B, H, W.
 */
export type UnplacedOperand =
  | { readonly space: 'none' }
  | { readonly space: 'arena'; readonly buffer: Buffer; readonly base: number; readonly strides: Strides }
  | { readonly space: 'stepIo' | 'index'; readonly base: number; readonly strides: Strides }

/** An operand in a buffer of the arena, or of the host pool. */
export type InBuffer = Extract<UnplacedOperand, { readonly space: 'arena' }>

/** A copy between the arena and the host pool before placement (see Copy in program.ts). */
interface UnplacedCopy extends Omit<Copy, 'device' | 'host'> {
  readonly device: InBuffer
  readonly host: InBuffer
}

/** Bytes for a rank, or of one, before placement. */
export interface UnplacedMessage extends Omit<Message, 'at'> {
  readonly at: InBuffer
}

/** An exchange with some ranks before placement. */
interface UnplacedExchange extends Omit<Exchange, 'sends' | 'receives'> {
  readonly sends: readonly UnplacedMessage[]
  readonly receives: readonly UnplacedMessage[]
}

/** An exchange with all ranks before placement. */
interface UnplacedAllToAll extends Omit<AllToAll, 'send' | 'receive'> {
  readonly send: InBuffer
  readonly receive: InBuffer
}

/** A slice that is this rank's, before placement. */
interface UnplacedOwnSlice extends Omit<OwnSlice, 'from' | 'to'> {
  readonly from: InBuffer
  readonly to: InBuffer
}

/** An instruction whose operands name buffers, which have no addresses yet. */
export type UnplacedInstruction =
  | {
      readonly kind: 'launch'
      readonly kernel: number
      readonly operands: readonly UnplacedOperand[]
      readonly engine?: 'to-device' | 'network'
      readonly seed?: number
    }
  | { readonly kind: 'loop'; readonly axis: TileAxis; readonly count: number; readonly body: readonly UnplacedInstruction[] }
  | UnplacedCopy
  | UnplacedAllToAll
  | UnplacedExchange
  | UnplacedOwnSlice
  /**
   * A wait may end a transfer: what that read, on the device or on the host, must stay until here.
   */
  | { readonly kind: 'record' | 'wait'; readonly engine: Engine; readonly event: number; readonly device?: Buffer; readonly host?: Buffer }

/** Strides of what is the same for all tiles. */
export const zeroStrides: Strides = [0, 0, 0]
/** The operand that stands for an optional one that is left out. */
export const noOperand: UnplacedOperand = { space: 'none' }
/** An operand `base` bytes into a buffer. */
export const arenaOperand = (buffer: Buffer, base = 0): InBuffer => ({ space: 'arena', buffer, base, strides: zeroStrides })
/** An operand `base` bytes into the section's I/O buffer. */
export const stepIoOperand = (base: number, strides: Strides = zeroStrides): UnplacedOperand => ({ space: 'stepIo', base, strides })
/** An operand that is a number: `base`, and so much more for each tile along B, H, W. */
export const indexOperand = (base: number, stride: Strides): UnplacedOperand => ({ space: 'index', base, strides: stride })

/** An operand further on in its buffer. */
export const offsetBy = (operand: UnplacedOperand, bytes: number, [b, h, w]: Strides): UnplacedOperand =>
  operand.space === 'none'
    ? operand
    : { ...operand, base: operand.base + bytes, strides: [operand.strides[0] + b, operand.strides[1] + h, operand.strides[2] + w] }

/**
 * Distinct kernels in order of first use, and buffer identities, shared by all that is emitted for
 * one graph.
 */
export interface Pool {
  readonly kernels: readonly Kernel[]
  readonly intern: (kernel: Kernel) => number
  readonly freshBuffer: () => number
  readonly freshEvent: () => number
}

/** A pool without kernels and buffers. */
export const createPool = (): Pool => {
  const kernels: Kernel[] = []
  const indices = new Map<string, number>()
  let [buffers, events] = [0, 0]
  return {
    kernels,
    freshBuffer: () => buffers++,
    freshEvent: () => events++,
    intern: (kernel) => {
      const key = encodeKernel(kernel).join(' ')
      const known = indices.get(key)
      if (known !== undefined) return known
      indices.set(key, kernels.length)
      return kernels.push(kernel) - 1
    }
  }
}

/**
 * Collects instructions in program order; the one place of staging that grows a list as it goes.
 */
export interface Builder {
  readonly buffer: (identity: BufferIdentity, bytes: number, role?: Buffer['role']) => Buffer
  /** The next launch that reads this output gradient begins a tile's backward. */
  readonly seed: (gradient: Buffer) => void
  readonly launch: <K extends KernelKind>(kernel: KernelOf<K>, operands: { readonly [O in OperandsOf<K>]: UnplacedOperand }) => void
  /** Launches a kernel on the network engine, outside of loops. */
  readonly networkLaunch: (kernel: KernelOf<'copyBox'>, operands: { readonly [O in OperandsOf<'copyBox'>]: UnplacedOperand }) => void
  /** Launches a kernel on the to-device engine. */
  readonly load: (kernel: KernelOf<'loadImage'>, operands: { readonly [O in OperandsOf<'loadImage'>]: UnplacedOperand }) => void
  readonly copy: (copy: Omit<UnplacedCopy, 'kind'>) => void
  /** Outside of loops. */
  readonly allToAll: (exchanged: Omit<UnplacedAllToAll, 'kind' | 'engine'>) => void
  /** Outside of loops. */
  readonly exchange: (exchanged: Omit<UnplacedExchange, 'kind' | 'engine'>) => void
  /** Outside of loops. */
  readonly ownSlice: (slice: Omit<UnplacedOwnSlice, 'kind' | 'engine'>) => void
  readonly freshEvent: () => number
  readonly record: (engine: Engine, event: number, device?: Buffer) => void
  readonly wait: (engine: Engine, event: number, device?: Buffer) => void
  /** Runs `body` for tile indices 0 .. count - 1 of `axis`; a single tile needs no loop. */
  readonly loop: (axis: TileAxis, count: number, body: () => void) => void
  /**
   * Emits a loop with one body for even indices and one for odd ones, 0 and 1; of an odd count the
   * last iteration runs by itself.
   */
  readonly pairs: (axis: TileAxis, count: number, body: (index: 0 | 1) => void) => void
  readonly code: () => readonly UnplacedInstruction[]
  /**
   * A timepoint of the step begins (see `PlanSwapInterval`); only its first time outside of loops
   * counts.
   */
  readonly timepoint: (timepoint: number) => void
  /** The position in `code` at which each timepoint that came begins. */
  readonly timepoints: () => ReadonlyMap<number, number>
}

/** Which indices of an axis a loop's index k stands for: first + step * k. */
interface Stepping {
  readonly axis: number
  readonly first: number
  readonly step: number
}

const moveByStep = (operand: UnplacedOperand, { axis, first, step }: Stepping): UnplacedOperand => {
  if (operand.space === 'none') return operand
  const stride = operand.strides[axis]!
  const [b, h, w] = operand.strides.map((own, k) => (k === axis ? step * own : own))
  return { ...operand, base: operand.base + first * stride, strides: [b!, h!, w!] }
}

/** Operands of each kernel in order, and how it uses them. */
const operandUses = map(({ operands }: KernelRow): readonly (readonly [string, Use])[] => Object.entries(operands))<KernelKind>(kernelTable)

/** A builder of one section's code, which has emitted nothing. */
export const createBuilder = (pool: Pool): Builder => {
  let current: UnplacedInstruction[] = []
  /** Gradients still to be seeded from: one that is passed on may be read after the next one. */
  const seeding = new Set<Buffer>()
  let stepping: Stepping | undefined
  let depth = 0
  const timepoints = new Map<number, number>()
  const loop = (axis: TileAxis, count: number, body: () => void): void => {
    if (count === 1) return body()
    const outer = current
    current = []
    depth++
    body()
    depth--
    outer.push({ kind: 'loop', axis, count, body: current })
    current = outer
  }
  const emitLaunch = (kernel: Kernel, named: Readonly<Record<string, UnplacedOperand>>, engine?: 'to-device' | 'network'): void => {
    const uses = operandUses[kernel.kind]
    const inOrder = uses.map(([name]) => (stepping === undefined ? named[name]! : moveByStep(named[name]!, stepping)))
    const reads = (operand: UnplacedOperand, position: number): boolean =>
      operand.space === 'arena' && seeding.has(operand.buffer) && uses[position]![1] === 'read'
    const seed = inOrder.findIndex(reads)
    if (seed !== -1) seeding.delete((inOrder[seed] as InBuffer).buffer)
    current.push({
      kind: 'launch',
      kernel: pool.intern(kernel),
      operands: inOrder,
      ...(engine === undefined ? {} : { engine }),
      ...(seed === -1 ? {} : { seed })
    })
  }
  const synchronise =
    (kind: 'record' | 'wait') =>
    (engine: Engine, event: number, device?: Buffer): void => {
      current.push({ kind, engine, event, ...(device === undefined ? {} : { device }) })
    }
  return {
    buffer: (identity, bytes, role = 'local') => ({ id: pool.freshBuffer(), identity, bytes, role }),
    seed: (gradient) => {
      seeding.add(gradient)
    },
    launch: (kernel, operands) => emitLaunch(kernel, operands),
    networkLaunch: (kernel, operands) => emitLaunch(kernel, operands, 'network'),
    load: (kernel, operands) => emitLaunch(kernel, operands, 'to-device'),
    copy: ({ device, host, ...copy }) => {
      const side = (address: InBuffer): InBuffer => (stepping === undefined ? address : (moveByStep(address, stepping) as InBuffer))
      current.push({ kind: 'copy', ...copy, device: side(device), host: side(host) })
    },
    allToAll: (exchanged) => void current.push({ kind: 'allToAll', engine: 'network', ...exchanged }),
    exchange: (exchanged) => void current.push({ kind: 'exchange', engine: 'network', ...exchanged }),
    ownSlice: (slice) => void current.push({ kind: 'ownSlice', engine: 'compute', ...slice }),
    freshEvent: pool.freshEvent,
    record: synchronise('record'),
    wait: synchronise('wait'),
    loop,
    pairs: (name, count, body) => {
      const axis = tileAxes.indexOf(name)
      const runAt = (first: number, step: number): void => {
        stepping = { axis, first, step }
        body(first % 2 === 0 ? 0 : 1)
        stepping = undefined
      }
      loop(name, count >> 1, () => [0, 1].forEach((first) => runAt(first, 2)))
      if (count % 2 === 1) runAt(count - 1, 0)
    },
    code: () => current,
    timepoint: (timepoint) => {
      if (depth === 0 && !timepoints.has(timepoint)) timepoints.set(timepoint, current.length)
    },
    timepoints: () => timepoints
  }
}
