import { createHeap, replay } from './online'
import { type Allocator, type Lifetime, alignUp, maxLive, makePlacement } from './placement'

/** The groups of a buffer by how soon its bytes can serve another (Yang 2020). */
type Mobility = 'movable' | 'temporary' | 'reclaimed'

/**
 * Layers that Yang 2020 does not offload take less than this share of the memory, and stay longer
 * than this share of the step.
 */
const reclaimedShare = { bytes: 0.01, time: 0.5 }

/**
 * Algorithm 3 by lifetimes alone, since a list of buffers has no layers or reference counts: small
 * buffers that stay long are reclaimed, those that outlive the median are temporary, the rest are
 * movable.
 */
const mobilities = (lifetimes: readonly Lifetime[], alignment: number): readonly Mobility[] => {
  const lengths = lifetimes.map(({ from, to }) => to - from)
  const median = [...lengths].sort((a, b) => a - b)[lengths.length >> 1] ?? 0
  const step = lifetimes.reduce((latest, { to }) => Math.max(latest, to), 0)
  const small = maxLive(lifetimes, alignment).bytes * reclaimedShare.bytes
  return lifetimes.map(({ bytes }, index) => {
    if (bytes < small && lengths[index]! > step * reclaimedShare.time) return 'reclaimed'
    return lengths[index]! > median ? 'temporary' : 'movable'
  })
}

/**
 * Group Tensors By Mobility (Yang 2020, section 3.3), online: movable buffers from the low end of
 * the main space and temporary ones from its high end, both by best fit; reclaimed ones in an
 * incremental space beyond it. The main space is as large as its two ends need at once: the paper's
 * trial run less its squeeze gap, without reserve, since the lifetimes are known.
 */
export const gtbm: Allocator = (lifetimes, { alignment }) => {
  const groups = mobilities(lifetimes, alignment)
  const heaps: { readonly [M in Mobility]: ReturnType<typeof createHeap> } = {
    movable: createHeap(),
    temporary: createHeap(),
    reclaimed: createHeap()
  }
  const places = lifetimes.map(() => 0)
  const bytesOf = (index: number): number => alignUp(lifetimes[index]!.bytes, alignment)
  let main = 0
  replay(lifetimes, {
    allocate: (index) => {
      places[index] = heaps[groups[index]!].allocate(bytesOf(index))
      main = Math.max(main, heaps.movable.top() + heaps.temporary.top())
    },
    free: (index) => heaps[groups[index]!].free(places[index]!, bytesOf(index))
  })
  const offsetIn: { readonly [M in Mobility]: (index: number) => number } = {
    movable: (index) => places[index]!,
    temporary: (index) => main - places[index]! - bytesOf(index),
    reclaimed: (index) => main + places[index]!
  }
  const offsets = lifetimes.map((_, index) => offsetIn[groups[index]!](index))
  return makePlacement(lifetimes, offsets, alignment)
}
