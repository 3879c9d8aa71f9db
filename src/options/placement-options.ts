import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Plan } from '../../dsl'
import type { DeviceName } from '../../native'
import { type DeviceFile, type PlacementChoice, isRecorded, leastCudaChunk } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { type Size, parseSize } from './sizes'
import { orTextIfPresent } from './option-values'

/** How the buffers of a step get their places; as `--placement` and `--chunk`. */
export interface PlacementOptions {
  /** `static` where absent; `virtual` maps chunks of memory to addresses of each buffer's own while it lives (paper 000). */
  readonly placement?: 'static' | 'virtual'
  /** Bytes of a chunk under `virtual`, a multiple of 4096, or a text: '2MiB'. 64 KiB where absent; of cuda a multiple of 2 MiB, which is its default. */
  readonly chunk?: number | string | Size
}

/** What a device maps: the least chunk, of which all are multiples, and the one that is taken where none is asked for. */
interface Mapped {
  readonly least: number
  readonly chunk: number
  readonly name: string
}

/** Of the CPU: 16 pages. Smaller ones take more calls, larger ones waste more of each buffer's last (bench/README.md). */
const pages: Mapped = { least: 4096, chunk: 2 ** 16, name: 'a page, such as 64KiB' }
const gpuChunks: Mapped = { least: leastCudaChunk, chunk: leastCudaChunk, name: 'the least that an NVIDIA GPU maps, such as 2MiB' }

const mostChunkBytes = 2 ** 40

const chunkBytes =
  ({ least, chunk, name }: Mapped) =>
  (size: Size | undefined): E.Either<Failure, number> => {
    if (size === undefined) return E.right(chunk)
    const isWhole = size.kind === 'bytes' && size.bytes % least === 0 && size.bytes <= mostChunkBytes
    return isWhole ? E.right(size.bytes) : E.left(inputFailure(`--chunk: give a multiple of ${least} bytes, which is ${name}`))
  }

export const noChunks = (placement: string): Failure =>
  inputFailure(`--chunk: ${placement} has no chunks of memory; leave it out, or take --placement virtual`)

/** Fails for chunks without `virtual`, and for those that the device does not map. */
export const placementOf = (
  { placement, chunk }: PlacementOptions,
  device: DeviceName | DeviceFile,
  plan: Plan | undefined
): E.Either<Failure, PlacementChoice | undefined> => {
  const isVirtual = placement === 'virtual'
  if (placement !== undefined && !isVirtual && placement !== 'static')
    return E.left(inputFailure(`--placement: a step is placed by static or virtual, not by ${String(placement)}`))
  const isCuda = typeof device === 'string' ? device === 'cuda' : isRecorded(device)
  const planned = plan?.placement?.chunkBytes
  if (isCuda && planned !== undefined && planned % leastCudaChunk !== 0)
    return E.left(
      inputFailure(`--plan: its chunks of ${planned} bytes are no multiple of the ${leastCudaChunk} that an NVIDIA GPU maps; plan for cuda`)
    )
  if (chunk !== undefined && !isVirtual) return E.left(noChunks('static'))
  if (!isVirtual) return E.right(undefined)
  return pipe(
    orTextIfPresent('chunk', typeof chunk === 'number' ? `${chunk}` : chunk, parseSize),
    E.chain(chunkBytes(isCuda ? gpuChunks : pages)),
    E.map((bytes) => ({ allocator: 'virtual', chunkBytes: bytes }))
  )
}
