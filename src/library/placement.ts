import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Plan } from '../../dsl'
import type { DeviceName } from '../../native'
import { type DeviceFile, type PlacementChoice, isRecorded } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { type Size, parseSize } from '../sizes'
import { orTextIfPresent } from './values'

/** How the buffers of a step get their places; as `--placement` and `--chunk`. */
export interface PlacementOptions {
  /** `static` where absent; `virtual` maps chunks of memory to addresses of each buffer's own while it lives (paper 000). */
  readonly placement?: 'static' | 'virtual'
  /** Bytes of a chunk under `virtual`, a multiple of 4096, or a text: '2MiB'. 64 KiB where absent. */
  readonly chunk?: number | string | Size
}

/** Of the CPU: 16 pages. Smaller ones take more calls, larger ones waste more of each buffer's last (bench/README.md). */
const defaultChunk = 2 ** 16

const pageBytes = 4096
const mostChunkBytes = 2 ** 40

const chunkBytes = (size: Size | undefined): E.Either<Failure, number> => {
  if (size === undefined) return E.right(defaultChunk)
  const isWhole = size.kind === 'bytes' && size.bytes % pageBytes === 0 && size.bytes <= mostChunkBytes
  return isWhole
    ? E.right(size.bytes)
    : E.left(inputFailure(`--chunk: give a multiple of ${pageBytes} bytes, which is a page, such as 64KiB`))
}

export const noChunks = (placement: string): Failure =>
  inputFailure(`--chunk: ${placement} has no chunks of memory; leave it out, or take --placement virtual`)

/** Fails for chunks without `virtual`, or of no whole pages, and for a device that maps none. */
export const placementOf = (
  { placement, chunk }: PlacementOptions,
  device: DeviceName | DeviceFile,
  plan: Plan | undefined
): E.Either<Failure, PlacementChoice | undefined> => {
  const isVirtual = placement === 'virtual'
  if (placement !== undefined && !isVirtual && placement !== 'static')
    return E.left(inputFailure(`--placement: a step is placed by static or virtual, not by ${String(placement)}`))
  const isCuda = typeof device === 'string' ? device === 'cuda' : isRecorded(device)
  if (isCuda && (isVirtual || plan?.placement !== undefined))
    return E.left(inputFailure('--placement: the cuda device maps no chunks of memory; take static, or --device cpu or reference'))
  if (chunk !== undefined && !isVirtual) return E.left(noChunks('static'))
  if (!isVirtual) return E.right(undefined)
  return pipe(
    orTextIfPresent('chunk', typeof chunk === 'number' ? `${chunk}` : chunk, parseSize),
    E.chain(chunkBytes),
    E.map((bytes) => ({ allocator: 'virtual', chunkBytes: bytes }))
  )
}
