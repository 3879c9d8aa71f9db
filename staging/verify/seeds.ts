import type { Kernel, KernelKind } from '../kernels/kernels'
import { sameBytes, type Access, type Event, type OpenLoop, type ProgramEvents, type SectionEvents, type Store } from './events'
import { accessBoxes } from './access-boxes'
import { ownBoxes, sizeOf } from './own-boxes'
import { bytesOfBox, overlap, subtract, type Box } from './boxes'
import { fail, operandFault, rangeText, type InstructionPlace, type VerifierFault } from './fault'
import { WrittenBytes } from './initialised'

/** A kernel of a loss that reads its target. */
interface TargetReader {
  readonly operand: 'labels' | 'target'
  /** The kernel of a gradient's loss, which must have taken the same elements. */
  readonly forward?: KernelKind
}

/** Each row or element of a target enters the loss once, and its gradient once. */
const targetReaders: { readonly [K in KernelKind]?: TargetReader } = {
  softmaxCrossEntropyForward: { operand: 'labels' },
  softmaxCrossEntropyBackward: { operand: 'labels', forward: 'softmaxCrossEntropyForward' },
  pixelCrossEntropyForward: { operand: 'labels' },
  pixelCrossEntropyBackward: { operand: 'labels', forward: 'pixelCrossEntropyForward' },
  classLossForward: { operand: 'labels' },
  classLossBackward: { operand: 'labels', forward: 'classLossForward' },
  sumOverlaps: { operand: 'labels' },
  valueLossForward: { operand: 'target' },
  valueLossBackward: { operand: 'target', forward: 'valueLossForward' },
  meanSquaredErrorForward: { operand: 'target' },
  meanSquaredErrorBackward: { operand: 'target', forward: 'meanSquaredErrorForward' }
}

/** In words, who reads the gradients that tiles begin with. */
const seeding = "the tiles' backward"
/** In words, who reads those that are another rank's to begin with. */
const sending = 'what goes to other ranks'

/** Accesses to one store that must touch each of its elements once. */
interface Parts {
  readonly store: number
  /** What ranks have of it. */
  readonly share: Store['share']
  /** Whose accesses they are, in words: a kernel's, or the seeds'. */
  readonly reader: KernelKind | typeof seeding | typeof sending
  readonly touched: WrittenBytes
  /** Number of times that each element of a sum is touched where tiles sum pixels. */
  readonly times: number
  /**
   * Bytes of all accesses over all iterations; `times` the store's bytes where each is touched as
   * often as it must.
   */
  bytes: number
}

/** Pixels of the tile that a sum, or a maximum, runs over, and of the whole tensor. */
const countSummed = (kernel: Kernel | undefined): { readonly pixels: number; readonly times: number } => {
  switch (kernel?.kind) {
    case 'globalAveragePoolForward':
    case 'globalAveragePoolBackward':
      return { pixels: kernel.height * kernel.width, times: Math.round(1 / kernel.scale) }
    case 'globalMaxPoolForward':
    case 'globalMaxPoolBackward':
      return { pixels: kernel.height * kernel.width, times: kernel.fullHeight * kernel.fullWidth }
    default:
      return { pixels: 1, times: 1 }
  }
}

/**
 * What a kernel which reduces pixels makes of them, and what it takes each of them into: of maxima
 * the result may lie in what joins it to others, which has more bytes.
 */
const reducedOperands: { readonly [K in KernelKind]?: { readonly result: string; readonly into: string } } = {
  globalAveragePoolForward: { result: 'sum', into: 'sum' },
  globalMaxPoolForward: { result: 'destination', into: 'maxima' }
}

/** Tells whether a kernel makes the gradient of an input of that of the output, in its place. */
const isInPlace = ({ store, range }: Access, all: readonly Access[]): boolean =>
  all.some((one) => one.operand === 'sourceGradient' && one.store === store && one.range.every((bound, end) => bound === range[end]))

/** Backward of ops that a segment may end with, of which only the output is read. */
const ofOutputs: ReadonlySet<KernelKind> = new Set(['rectifierBackward', 'pointwiseBackward'])

/** Who reads a store: kernels, or what goes to other ranks. */
type Reader = KernelKind | 'network'

/** Who reads each store in a section, copies from and to the host left out. */
const readersOf = (events: readonly Event[], known = new Map<number, Set<Reader>>()): ReadonlyMap<number, ReadonlySet<Reader>> => {
  for (const event of events)
    if (event.kind === 'loop') readersOf(event.body, known)
    else if (event.kind === 'access') {
      const reader = event.kernel?.kind ?? (event.engine === 'network' ? 'network' : undefined)
      for (const { store, use } of event.accesses)
        if (reader !== undefined && (use === 'read' || use === 'accumulate')) known.set(store, (known.get(store) ?? new Set()).add(reader))
    }
  return known
}

const volume = ({ repeats, run }: Access, loops: readonly OpenLoop[]): number =>
  [...repeats, ...loops].reduce((product, { count }) => product * count, run)

const partFault = (section: string, buffer: string, sentence: string): VerifierFault => ({
  kind: 'seed',
  message: `${section}: ${sentence}.`,
  section,
  buffer
})

const proveOnce = (
  { stores, coordinates }: ProgramEvents,
  section: string,
  { store, share, reader, touched, times, bytes }: Parts
): void => {
  const { name, bytes: held } = stores[store]!
  const { own, ownBytes, others } = ownBoxes(stores[store]!, share, coordinates[store]!)
  const missing = subtract(reader === sending ? others : own, touched.of(store))
  if (missing.length > 0)
    fail(partFault(section, name, `${reader} leaves out ${rangeText(bytesOfBox(coordinates[store]!, missing[0]!))} of "${name}"`))
  // Of all pixels a rank sums those of its rows.
  const ownTimes = share?.kind === 'sum' && times > 1 ? (times * sizeOf(share.own.rows)) / share.of.rows : times
  const excess = bytes - (reader === sending ? held - ownBytes : ownBytes * ownTimes)
  const each = times === 1 ? '' : `, over ${times} pixels`
  if (excess > 0) fail(partFault(section, name, `${reader} takes ${excess} bytes of "${name}" more than once${each}`))
  if (excess < 0) fail(partFault(section, name, `${reader} takes ${-excess} bytes of "${name}" too few${each}`))
}

/**
 * Proves that tiles own each element of an output gradient once: their seeds cover it, and together
 * have as many bytes. Whatever else reads the gradient must lie within the seed that the same
 * iteration took last. A loss reads its target likewise, and the tiles of a sum over pixels add
 * each pixel once, as those of a maximum compare it.
 */
export const proveSeeds = (program: ProgramEvents, section: SectionEvents): void => {
  const { stores, coordinates } = program
  const parts = new Map<string, Parts>()
  const take = (
    reader: Parts['reader'],
    kernel: Kernel | undefined,
    access: Access,
    loops: readonly OpenLoop[],
    result = access.store
  ): void => {
    const { store } = access
    const { pixels, times } = countSummed(kernel)
    const key = `${store},${reader},${times}${result === store ? '' : `,${result}`}`
    let found = parts.get(key)
    if (found === undefined) {
      const { share, summedShare = share } = stores[result]!
      found = {
        store,
        share: reader === 'sumOverlaps' ? summedShare : share,
        reader,
        times,
        touched: new WrittenBytes(coordinates),
        bytes: 0
      }
      parts.set(key, found)
    }
    found.touched.write(access)
    found.bytes += pixels * volume(access, loops)
  }
  const readers = readersOf(section.events)
  /** Tells whether the first of these reads the copy that a launch makes, and none but these do. */
  const goesTo = (all: readonly Access[], ...[first, ...others]: readonly Reader[]): boolean => {
    const found = readers.get(all.find(({ operand }) => operand === 'destination')!.store) ?? new Set()
    return found.has(first!) && [...found].every((reader) => reader === first || others.includes(reader))
  }
  /** Tells whether an access is to rows of other ranks alone. */
  const isOfOthers = ({ kind }: Kernel, access: Access): boolean => {
    const { share } = stores[access.store]!
    if (kind !== 'copyBox' || share?.kind !== 'part' || !share.isSent) return false
    const { own } = ownBoxes(stores[access.store]!, share, coordinates[access.store]!)
    return accessBoxes(coordinates[access.store]!, access).boxes.every((box) => !own.some((other) => overlap(box, other)))
  }
  /** Tells whether an access is to what a rank adds to a gradient that is then sent whole. */
  const isContributed = ({ kind }: Kernel, { store }: Access): boolean => {
    const { share } = stores[store]!
    return kind === 'copyBox' && share !== undefined && share.kind !== 'part' && readers.get(store)?.has('network') === true
  }
  /** Tells whether what is sent is a gradient to which all ranks add theirs. */
  const isSummed = ({ kernel }: InstructionPlace, { store }: Access): boolean =>
    kernel === 'allToAll' && ['sum', 'alike'].includes(stores[store]!.share?.kind ?? '')
  const checkReread = (place: InstructionPlace, access: Access, seed: Access | undefined): void => {
    const system = coordinates[access.store]!
    const moves = seed !== undefined && access.strides.every((stride, axis) => stride === seed.strides[axis])
    const own: readonly Box[] = moves ? accessBoxes(system, seed).boxes : []
    if (subtract(accessBoxes(system, access).boxes, own).length === 0) return
    const { name } = stores[access.store]!
    fail(operandFault('seed', place, access.operand, name, access.range, `reads "${name}" beyond the part that its tile owns`))
  }
  const coversStore = (access: Access): boolean => {
    const system = coordinates[access.store]!
    const all = accessBoxes(system, { base: 0, repeats: [], run: stores[access.store]!.bytes }).boxes
    return subtract(all, accessBoxes(system, access).boxes).length === 0
  }
  /** Gradients of which all has become that of an op's input, before any tile's backward. */
  const completed = new Set<number>()
  /** Tells whether a kernel makes of a gradient the one to seed from. */
  const completes = ({ kind }: Kernel, access: Access, all: readonly Access[], loops: readonly OpenLoop[]): boolean => {
    const { store } = access
    if (!isInPlace(access, all)) return false
    if (kind === 'normaliseBackward') return true
    const isFirst = !completed.has(store) && ![...parts.values()].some((part) => part.store === store)
    if (!ofOutputs.has(kind) || loops.length > 0 || !isFirst || !coversStore(access)) return false
    completed.add(store)
    return true
  }
  const walk = (list: readonly Event[], loops: readonly OpenLoop[], outer: ReadonlyMap<number, Access>): Set<number> => {
    const latest = new Map(outer)
    const touched = new Set<number>()
    /**
     * Parts of gradients on the host that were brought to be added to, and have to go back to where
     * they were.
     */
    const lent = new Map<number, { readonly place: InstructionPlace; readonly access: Access }>()
    const copied = ({ place, engine, accesses: [from, to], seed }: Extract<Event, { readonly kind: 'access' }>): void => {
      const host = engine === 'to-device' ? from! : to!
      if (stores[host.store]!.role !== 'output-gradient') return
      touched.add(host.store)
      if (seed !== undefined) take(seeding, undefined, host, loops)
      else if (engine === 'to-device') lent.set(host.store, { place, access: host })
      else if (lent.has(host.store) && sameBytes(lent.get(host.store)!.access, host)) lent.delete(host.store)
    }
    for (const event of list)
      if (event.kind === 'loop') {
        const inside = walk(event.body, [...loops, event.loop], latest)
        for (const part of parts.values()) if (inside.has(part.store)) part.touched.close(event.loop, [part.store])
        inside.forEach((store) => {
          latest.delete(store)
          touched.add(store)
        })
      } else if (event.kind === 'access' && event.engine === 'network') {
        // Rows that go to other ranks are packed first, which the proof follows.
        for (const access of event.accesses)
          if (stores[access.store]!.role === 'output-gradient')
            if (isSummed(event.place, access)) touched.add(access.store)
            else checkReread(event.place, access, undefined)
      } else if (event.kind === 'access' && event.kernel === undefined) copied(event)
      else if (event.kind === 'access' && event.kernel !== undefined)
        for (const access of event.accesses) {
          const { store, operand, use } = access
          const { role } = stores[store]!
          if (role === 'output-gradient') touched.add(store)
          if (targetReaders[event.kernel.kind]?.operand === operand) take(event.kernel.kind, event.kernel, access, loops)
          else if (reducedOperands[event.kernel.kind]?.result === operand && role === 'boundary') {
            const { into } = reducedOperands[event.kernel.kind]!
            const taken = event.accesses.find((one) => one.operand === into)!
            take(event.kernel.kind, event.kernel, taken, loops, store)
            touched.add(taken.store)
          } else if (role !== 'output-gradient' || use !== 'read') continue
          else if (access === event.seed) {
            take(seeding, event.kernel, access, loops)
            latest.set(store, access)
          } else if (isOfOthers(event.kernel, access) && goesTo(event.accesses, 'network')) take(sending, event.kernel, access, loops)
          else if (
            (isOfOthers(event.kernel, access) || isContributed(event.kernel, access)) &&
            goesTo(event.accesses, 'normaliseBackward', 'copyBox')
          )
            touched.add(store)
          else if (!completes(event.kernel, access, event.accesses, loops)) checkReread(event.place, access, latest.get(store))
          touched.add(store)
        }
    for (const { place, access } of lent.values()) {
      const { name } = stores[access.store]!
      fail(
        operandFault('seed', place, access.operand, name, access.range, `brings a part of "${name}" that is neither a seed nor goes back`)
      )
    }
    return touched
  }
  const touched = walk(section.events, [], new Map())
  for (const store of touched)
    if (stores[store]!.role === 'output-gradient' && ![...parts.values()].some((part) => part.store === store))
      fail(partFault(section.name, stores[store]!.name, `${seeding} leaves out all of "${stores[store]!.name}"`))
  for (const store of touched) {
    const { role, share, name } = stores[store]!
    if (role !== 'output-gradient' || share?.kind !== 'part' || !share.isSent) continue
    const { held, own } = share
    const isHeld = (['images', 'rows'] as const).some((one) => held[one][0] < own[one][0] || own[one][1] < held[one][1])
    if (isHeld && ![...parts.values()].some((part) => part.store === store && part.reader === sending))
      fail(partFault(section.name, name, `${sending} leaves out all of "${name}" that is not this rank's`))
  }
  for (const part of parts.values()) {
    proveOnce(program, section.name, part)
    const forward = part.reader === seeding || part.reader === sending ? undefined : targetReaders[part.reader]?.forward
    if (forward !== undefined && !parts.has(`${part.store},${forward},${part.times}`))
      fail(partFault(section.name, stores[part.store]!.name, `${forward} leaves out all of "${stores[part.store]!.name}"`))
  }
}
