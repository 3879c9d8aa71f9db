import { kernelTable } from '../kernels/kernels'
import { engines, type Engine, type Instruction, type Program } from '../program/program'

type Loop = Extract<Instruction, { readonly kind: 'loop' }>
type Busy = Exclude<Instruction, { readonly kind: 'loop' | 'record' | 'wait' }>

/**
 * A span of an engine's work between two timepoints of a step, in nanoseconds from its start.
 */
export interface EngineSpan {
  readonly engine: Engine
  readonly from: number
  readonly to: number
  /** A kernel's kind, or what is done beside kernels. */
  readonly what: string
  /** The buffer that it is about: what it writes first, or what is moved; of the Program's list. */
  readonly buffer?: number
  /** Number of spans, one after the other, where tiles are not told apart. */
  readonly times: number
}

/** When a buffer of the Program's list holds something, in nanoseconds from the step's start. */
export interface BufferSpan {
  readonly buffer: number
  readonly from: number
  readonly to: number
}

/** Code of a Program as it is predicted to run, or as it ran. */
export interface StepTimeline {
  readonly nanoseconds: number
  readonly spans: readonly EngineSpan[]
  readonly lifetimes: readonly BufferSpan[]
  readonly hostLifetimes: readonly BufferSpan[]
}

type Side = 'device' | 'host'

const buffersTouched = (one: Instruction, side: Side): readonly number[] => {
  if (one.kind === 'copy') return [one[side].buffer!]
  if (one.kind !== 'launch' || side === 'host') return []
  return one.operands.flatMap(({ space, buffer }) => (space === 'arena' ? [buffer!] : []))
}

/** The loops around all that touches each buffer of a side, from the outermost in. */
const commonLoops = (code: readonly Instruction[], side: Side): ReadonlyMap<number, readonly Loop[]> => {
  const common = new Map<number, readonly Loop[]>()
  const walk = (code: readonly Instruction[], around: readonly Loop[]): void => {
    for (const one of code)
      if (one.kind === 'loop') walk(one.body, [...around, one])
      else
        for (const buffer of buffersTouched(one, side)) {
          const before = common.get(buffer)
          const differs = before === undefined ? -1 : before.findIndex((loop, depth) => loop !== around[depth])
          common.set(buffer, before === undefined ? around : differs === -1 ? before : before.slice(0, differs))
        }
  }
  walk(code, [])
  return common
}

/** From when to when buffers of a side are touched: in each tile, where they are its own. */
const findLifetimes = (code: readonly Instruction[], side: Side) => {
  const common = commonLoops(code, side)
  const lifetimes = new Map<string, { readonly buffer: number; from: number; to: number }>()
  return {
    touch: (one: Instruction, tiles: ReadonlyMap<Loop, number>, from: number, to: number): void => {
      for (const buffer of buffersTouched(one, side)) {
        const key = [buffer, ...common.get(buffer)!.map((loop) => tiles.get(loop))].join()
        const known = lifetimes.get(key)
        if (known === undefined) lifetimes.set(key, { buffer, from, to })
        else {
          known.from = Math.min(known.from, from)
          known.to = Math.max(known.to, to)
        }
      }
    },
    all: (): readonly BufferSpan[] => [...lifetimes.values()]
  }
}

const what = (program: Program, one: Busy): string => {
  if (one.kind === 'launch') return program.kernels[one.kernel]!.kind
  if (one.kind === 'map') return 'map memory'
  if (one.kind === 'unmap') return 'unmap memory'
  return one.kind === 'copy' || one.kind === 'ownSlice' ? 'copy' : 'exchange'
}

/** Returns the buffer that is moved, or that a kernel writes first. */
const mainBuffer = (program: Program, one: Busy): number | undefined => {
  if (one.kind === 'copy') return one.device.buffer
  if (one.kind !== 'launch') return undefined
  const uses = Object.values(kernelTable[program.kernels[one.kernel]!.kind].operands)
  const written = one.operands.filter(({ space }, place) => space === 'arena' && uses[place] !== 'read')
  return (written[0] ?? one.operands.find(({ space }) => space === 'arena'))?.buffer
}

/** Collects what is told of code in program order. */
interface Collector {
  /** A loop's body begins, for a tile index. */
  readonly tile: (loop: Instruction, index: number) => void
  readonly span: (one: Instruction, engine: Engine, from: number, to: number, times: number) => void
  readonly take: () => Omit<StepTimeline, 'nanoseconds'>
}

/**
 * Collects spans and lifetimes of some code. A buffer that only the tiles of a loop use has a
 * lifetime for each of them; those that live throughout are left out.
 */
export const collectTimeline = (program: Program, code: readonly Instruction[]): Collector => {
  const spans: EngineSpan[] = []
  const tiles = new Map<Loop, number>()
  const [onDevice, onHost] = [findLifetimes(code, 'device'), findLifetimes(code, 'host')]
  return {
    tile: (loop, index) => void tiles.set(loop as Loop, index),
    span: (one, engine, from, to, times) => {
      onDevice.touch(one, tiles, from, to)
      onHost.touch(one, tiles, from, to)
      const buffer = mainBuffer(program, one as Busy)
      spans.push({ engine, from, to, what: what(program, one as Busy), times, ...(buffer === undefined ? {} : { buffer }) })
    },
    take: () => ({
      spans,
      lifetimes: onDevice.all().filter(({ buffer }) => program.buffers[buffer]!.role !== 'persistent'),
      hostLifetimes: onHost.all()
    })
  }
}

/** A timeline of what was collected, in which persistent buffers live from beginning to end. */
export const wholeTimeline = (
  { buffers }: Program,
  nanoseconds: number,
  { spans, lifetimes, hostLifetimes }: Omit<StepTimeline, 'nanoseconds'>
): StepTimeline => {
  const persistent = buffers.flatMap(({ role }, buffer) => (role === 'persistent' ? [{ buffer, from: 0, to: nanoseconds }] : []))
  return {
    nanoseconds,
    spans: [...spans].sort((a, b) => engines.indexOf(a.engine) - engines.indexOf(b.engine) || a.from - b.from),
    lifetimes: [...persistent, ...lifetimes],
    hostLifetimes
  }
}
