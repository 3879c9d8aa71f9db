import { createHeap, replay } from './online'
import { type Allocator, alignUp, makePlacement } from './placement'

/**
 * Online, as frameworks do: each buffer in program order into the smallest hole that holds it, else
 * at the end.
 */
export const bestFit: Allocator = (lifetimes, { alignment }) => {
  const heap = createHeap()
  const offsets = lifetimes.map(() => 0)
  const bytesOf = (index: number): number => alignUp(lifetimes[index]!.bytes, alignment)
  replay(lifetimes, {
    allocate: (index) => void (offsets[index] = heap.allocate(bytesOf(index))),
    free: (index) => heap.free(offsets[index]!, bytesOf(index))
  })
  return makePlacement(lifetimes, offsets, alignment)
}
