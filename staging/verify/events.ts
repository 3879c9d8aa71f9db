import type { Kernel } from '../kernels/kernels'
import type { Engine } from '../program/program'
import type { BufferRole, TensorShare } from '../program/program-buffer'
import type { Coordinates } from './boxes'
import type { InstructionPlace } from './fault'
import type { StridedRepeat } from './regions/region'

/**
 * Something that holds bytes: a buffer of the arena or of the host pool, or one value of a
 * section's I/O buffer.
 */
export interface Store {
  readonly space: 'arena' | 'host' | 'stepIo'
  readonly name: string
  /** Offset in the space, in bytes. */
  readonly offset: number
  readonly bytes: number
  readonly role?: BufferRole
  readonly share?: TensorShare
  /** What is summed of a target, where that is another share. */
  readonly summedShare?: TensorShare
}

/** A loop around an instruction. */
export interface OpenLoop {
  /** Position in tileAxes. */
  readonly axis: number
  readonly count: number
}

/** The bytes that an operand touches of a store in every iteration of the loops around it. */
export interface Access {
  readonly store: number
  readonly operand: string
  readonly use: 'read' | 'write' | 'accumulate' | 'scratch'
  /** First byte of the first iteration, from the store's start. */
  readonly base: number
  readonly repeats: readonly StridedRepeat[]
  readonly run: number
  /** Bytes per tile along B, H, W; 0 outside a loop of that axis. */
  readonly strides: readonly [number, number, number]
  /** Half-open range of the store's bytes over all iterations. */
  readonly range: readonly [number, number]
}

/** Tells whether two accesses of one store touch the same bytes in every iteration. */
export const sameBytes = (a: Access, b: Access): boolean =>
  a.base === b.base &&
  a.run === b.run &&
  a.repeats.length === b.repeats.length &&
  a.strides.every((stride, axis) => stride === b.strides[axis])

/** Memory at addresses of the arena, all in bytes. */
export interface Mapping {
  readonly address: number
  readonly memory: number
  readonly bytes: number
}

/** What a section does, in its order: accesses, maps, and what engines record and wait for. */
export type Event =
  | {
      readonly kind: 'access'
      readonly place: InstructionPlace
      readonly engine: Engine
      /** Absent for copies, and where ranks exchange. */
      readonly kernel?: Kernel
      readonly accesses: readonly Access[]
      /** Which of the accesses begins a tile's backward. */
      readonly seed?: Access
    }
  | { readonly kind: 'loop'; readonly loop: OpenLoop; readonly body: readonly Event[] }
  | { readonly kind: 'record' | 'wait'; readonly place: InstructionPlace; readonly engine: Engine; readonly event: number }
  | { readonly kind: 'map'; readonly place: InstructionPlace; readonly mapping: Mapping }
  | { readonly kind: 'unmap'; readonly place: InstructionPlace; readonly mapping: Omit<Mapping, 'memory'> }

/** A section as the bytes that it touches, in program order. */
export interface SectionEvents {
  readonly name: string
  readonly events: readonly Event[]
  /** The stores of its I/O buffer, from .. to. */
  readonly stepIo: readonly [number, number]
}

/** What a Program does to each store of memory, section by section. */
export interface ProgramEvents {
  readonly stores: readonly Store[]
  readonly sections: readonly SectionEvents[]
  /** Coordinates in which the accesses to each store are boxes. */
  readonly coordinates: readonly Coordinates[]
}
