import type { Kernel } from '../kernels/kernels'
import type { Layout } from '../kernels/layout'
import type { Precision } from '../kernels/precision'
import type { ProgramBuffer } from './program-buffer'
import type { ProgramShard } from './program-shard'
import type { Address, Offset } from './address'
import type { AllToAll, Exchange, OwnSlice } from './rank-instructions'

/**
 * The axes along which tiles are cut: batch, height and width. The position of a name is its code
 * in a Program.
 */
export const tileAxes = ['B', 'H', 'W'] as const
/** The name of an axis along which tiles are cut. */
export type TileAxis = (typeof tileAxes)[number]

/**
 * The first number of each kind of instruction. A Program runs instructions over byte addresses in
 * fixed spaces, which go as numbers to the native decoder, which checks them again.
 *
 * - launch [1, kernel, operands, then (space, base, perBatchTile, perRowTile, perColumnTile) for
 *   each operand]
 * - loop [2, axis, count, length]: the next `length` numbers run for tile index 0 .. count - 1 of
 *   `axis`
 * - copy [3, engine, rows, rowBytes, deviceRowStride, hostRowStride, then (base, three strides) on
 *   the device and on the host]
 * - record [4, engine, event]
 * - wait [5, engine, event]
 * - load [6, and so on as launch]: of a loadImage, on the engine `to-device`
 * - map [7, address, memory, bytes]: with pages alone, outside of loops, as unmap; on the engine
 *   `compute`
 * - unmap [8, address, bytes]
 * - allToAll [9, ranks, apart, bytes, sendStride, receiveStride, then (base, three strides) of what
 *   is sent and of what is received]
 * - exchange [10, ranks, sends, receives, then (rank, bytes, base) of each]
 * - ownSlice [11, ranks, bytes, then (base, three strides) of the slices and of the place]
 * - networkLaunch [12, and so on as launch]: of a copyBox, on the engine `network`
 *
 * An `allToAll` runs on the engine `network`: `bytes` from sent + j * sendStride go to rank j, and
 * as many come from it to received + j * receiveStride, for each of the `ranks`, this one included.
 * With a sendStride of 0 all ranks get the same: an all-gather. All ranks run the same Program, so
 * whatever one sends in its n-th, the others receive in theirs. Of fewer ranks than there are, it
 * is among groups of as many, one after the other, and counts them from 0 in each: those that share
 * the rows of an image, where other groups run other micro-batches. Where they are so many `apart`,
 * it is among those that have the same place in each group of so many: of `ranks` groups one each.
 *
 * An `exchange` too, with those ranks that it names, each once on either side: what one sends to
 * another in its n-th, that one receives in its own.
 *
 * An `ownSlice` runs on the engine `compute`, and nothing travels: of slices of so many `bytes`,
 * one after the other by rank, it copies the one of this rank. So all ranks run the same Program,
 * though each has a slice of its own.
 *
 * A `networkLaunch` adds what ranks have sent, outside of loops, beside what computes.
 *
 * Other launches run on the engine `compute`, copies on `to-device` or `to-host`. Each engine runs
 * its instructions in program order, and beside the others. `wait` holds its engine until the
 * latest `record` of that event before it in program order has been reached by the engine that
 * records it; a wait for an event that nothing has recorded is an error.
 *
 * Where a Program has pages, the arena's offsets are addresses that pages of memory must be
 * mapped to while anything touches them: `map` puts the memory's `bytes` from `memory` on at
 * `address`, `unmap` takes what is there away. An address has one page at a time, and a page one
 * address; sections begin and end with what is resident alone.
 *
 * An operand's address (or index) is base + sum over axes of per-tile stride x that axis's current
 * index; an axis has index 0 outside its loop. Loops nest, each axis at most once.
 */
export const opcodes = {
  launch: 1,
  loop: 2,
  copy: 3,
  record: 4,
  wait: 5,
  load: 6,
  map: 7,
  unmap: 8,
  allToAll: 9,
  exchange: 10,
  ownSlice: 11,
  networkLaunch: 12
} as const

/** The position of a name is its code in a Program. */
export const engines = ['compute', 'to-device', 'to-host', 'network'] as const
/** What works on its own, beside the others: computing, copies each way, and the network. */
export type Engine = (typeof engines)[number]

/** The engines of a Program: `network` is of those that ranks share. */
export const programEngines = ({ reduce }: Pick<Program, 'reduce'>): readonly Engine[] =>
  reduce === undefined ? engines.filter((engine) => engine !== 'network') : engines

/** `rows` runs of `rowBytes` bytes, `RowStride` bytes apart on either side. */
export interface Copy {
  readonly kind: 'copy'
  readonly engine: 'to-device' | 'to-host'
  readonly rows: number
  readonly rowBytes: number
  readonly deviceRowStride: number
  readonly hostRowStride: number
  readonly device: Offset
  readonly host: Offset
  /**
   * Set where a tile's backward begins with what this copy brings of an output gradient that is on
   * the host.
   */
  readonly seed?: true
}

/**
 * One instruction of a Program: a launch, a loop, a copy, an exchange among ranks, the slice of
 * one, an event that one engine records and another waits for, or pages that are mapped.
 */
export type Instruction =
  | {
      readonly kind: 'launch'
      readonly kernel: number
      readonly operands: readonly Address[]
      /** A load, or an addition of what ranks have sent, where it is said; else `compute`. */
      readonly engine?: 'to-device' | 'network'
      /**
       * The operand that reads the tile's owned part of the output gradient, where a tile's
       * backward begins.
       */
      readonly seed?: number
    }
  | { readonly kind: 'loop'; readonly axis: TileAxis; readonly count: number; readonly body: readonly Instruction[] }
  | Copy
  | AllToAll
  | Exchange
  | OwnSlice
  | { readonly kind: 'record' | 'wait'; readonly engine: Engine; readonly event: number }
  | { readonly kind: 'map'; readonly address: number; readonly memory: number; readonly bytes: number }
  | { readonly kind: 'unmap'; readonly address: number; readonly bytes: number }

/**
 * A tensor that lives across sections: a parameter, a part of the optimizer's state, or a gradient
 * that waits for the section `update`, which have their parameter's layout. With a section `reduce`
 * the sum of gradients too, and moments that running statistics take in there.
 */
export interface PersistentTensor {
  readonly name: string
  /**
   * 'weight' or 'bias' of a layer, the name of the optimizer's buffer ('velocity', ...), or
   * 'gradient', 'sum' or 'moments', which are not saved.
   */
  readonly role: string
  /** The name of the weight, bias or statistic whose it is; its own name where it is one. */
  readonly parameter: string
  readonly shape: readonly number[]
  readonly layout: Layout
  readonly groups: number
  readonly offset: number
  readonly bytes: number
  /** Set where it lies in the host pool. */
  readonly onHost?: true
}

/** Returns the bytes of an element of a value in the step's inputs and outputs. */
export const stepIoElementBytes = (type: StepIoEntry['type']): number => (type === 'uint8' ? 1 : type === 'float64' ? 8 : 4)

/** The place of a value in the input and output buffer of a section, in bytes; in plain layout. */
export interface StepIoEntry {
  readonly name: string
  readonly type: 'uint8' | 'int32' | 'float32' | 'float64'
  readonly shape: readonly number[]
  readonly offset: number
}

/** A list of instructions that runs as one, with the I/O buffer that it reads and writes. */
export interface Section {
  readonly code: readonly Instruction[]
  readonly stepIoBytes: number
  readonly stepIo: readonly StepIoEntry[]
}

/**
 * The names of sections: a training or forward step; filling and saving weights and optimizer
 * state; an optimizer's update; scores; and a sum of gradients over ranks.
 */
export const sectionNames = ['step', 'restore', 'save', 'update', 'evaluate', 'reduce'] as const
/** The name of a section of a Program. */
export type SectionName = (typeof sectionNames)[number]

/**
 * Virtual addressing (Hayakawa 2020, section 4): the arena is a range of addresses, to which pages
 * of memory are mapped. All in bytes.
 */
export interface Pages {
  /**
   * Bytes of a page; every place and length below, and those of `map` and `unmap`, are multiples
   * of it.
   */
  readonly pageBytes: number
  /** Bytes of the range of addresses. */
  readonly addressBytes: number
  /**
   * Bytes that the range begins with and that are always mapped, to the memory's first bytes.
   * Persistent tensors lie there.
   */
  readonly residentBytes: number
}

/** All that a device runs: kernels, instructions by section, and where each buffer lies. */
export interface Program {
  readonly precision: Precision
  /** Threads of the compute engine: kernels' scratch depends on it. */
  readonly threads: number
  /** Bytes of the host pool that copies reach. */
  readonly hostBytes: number
  /**
   * Highest byte that any instruction of any section touches in the arena, plus one; with `pages`,
   * of the memory that is ever mapped.
   */
  readonly peakBytes: number
  /** Absent where the arena's offsets are those of its memory. */
  readonly pages?: Pages
  /** [B, C, H, W] of the uint8 input that loadImage reads, crop applied. */
  readonly input: readonly [number, number, number, number]
  readonly kernels: readonly Kernel[]
  readonly buffers: readonly ProgramBuffer[]
  /** Absent where ranks share no rows. */
  readonly shard?: ProgramShard
  /** Buffers of the host pool, as `buffers` of the arena. */
  readonly hostBuffers: readonly ProgramBuffer[]
  readonly persistentTensors: readonly PersistentTensor[]
  /**
   * The section of a training step (or one forward and backward, or an evaluation); where there is
   * an `update`, it leaves the gradients for it.
   */
  readonly step: Section
  /**
   * After each step, where ranks share the micro-batches of an update: adds those gradients of all
   * ranks that the step has not added to what this rank keeps of the sum, and zeroes all; running
   * statistics take in the moments of all ranks.
   */
  readonly reduce?: Section
  /**
   * After the last of an update's micro-batches: clips the gradients, updates the parameters, and
   * zeroes the gradients.
   */
  readonly update?: Section
  /**
   * Forward alone, without dropout: hands out the `scores` that the loss would read, or of pixels
   * `classes` and `loss`.
   */
  readonly evaluate?: Section
  /**
   * Weights and optimizer state from, and to, plain tensors of the parameters' type; restoring
   * zeroes what gradients are kept.
   */
  readonly restore: Section
  readonly save: Section
}
