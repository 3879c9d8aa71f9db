import type { Copy } from '../../program/program'

/** The copy of contiguous bytes between a place in the arena and one in the host pool. */
export const contiguousCopy = <Place>(engine: Copy['engine'], bytes: number, device: Place, host: Place) =>
  ({ kind: 'copy', engine, rows: 1, rowBytes: bytes, deviceRowStride: bytes, hostRowStride: bytes, device, host }) as const
