import type { Copy } from '../../program/program'
import type { InBuffer, UnplacedCopy } from './builder'

/** The copy of contiguous bytes between the arena and the host pool. */
export const contiguousCopy = (engine: Copy['engine'], bytes: number, device: InBuffer, host: InBuffer): Omit<UnplacedCopy, 'kind'> => ({
  engine,
  rows: 1,
  rowBytes: bytes,
  deviceRowStride: bytes,
  hostRowStride: bytes,
  device,
  host
})
