import * as E from 'fp-ts/Either'
import type { PlanFile } from '../../dsl'
import type { DeviceName } from '../../native'
import { type DeviceFile, type PlanPlacement, isRecorded, minCudaPage } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import type { DecodedOptions } from '../options/option'
import type { planningOptions } from '../option-tables/setup-options'
import type { Size } from '../options/sizes'

/**
 * Bytes of the pages that a device maps: the smallest, of which all are multiples, and the one that
 * is taken where none is asked for.
 */
interface Pages {
  readonly min: number
  readonly usual: number
  readonly name: string
}

/**
 * Pages of the cpu: smaller ones than 16 of its own take more calls, larger ones waste more of each
 * buffer's last (docs/benchmarks.md).
 */
const cpuPages: Pages = { min: 4096, usual: 2 ** 16, name: 'a page, such as 64KiB' }
const gpuPages: Pages = { min: minCudaPage, usual: minCudaPage, name: 'the least that an NVIDIA GPU maps, such as 2MiB' }

const maxPageBytes = 2 ** 40

const pageBytes = (size: Size | undefined, { min, usual, name }: Pages): E.Either<Failure, number> => {
  if (size === undefined) return E.right(usual)
  const isWhole = size.kind === 'bytes' && size.bytes % min === 0 && size.bytes <= maxPageBytes
  return isWhole ? E.right(size.bytes) : E.left(inputFailure(`--page-size: give a multiple of ${min} bytes, which is ${name}`))
}

/** The failure of a page size with a way to place buffers that maps no pages. */
export const noPagesFailure = (placement: string): Failure =>
  inputFailure(`--page-size: ${placement} has no pages of memory; leave it out, or take --placement virtual`)

/**
 * Resolves how buffers get their memory on a device; fails for pages without `virtual`, and for
 * those that the device does not map.
 */
export const resolvePlacement = (
  { placement, pageSize }: DecodedOptions<typeof planningOptions>,
  device: DeviceName | DeviceFile,
  plan: PlanFile | undefined
): E.Either<Failure, PlanPlacement | undefined> => {
  const isCuda = typeof device === 'string' ? device === 'cuda' : isRecorded(device)
  const planned = plan?.placement?.pageBytes
  if (isCuda && planned !== undefined && planned % minCudaPage !== 0)
    return E.left(
      inputFailure(`--plan: its pages of ${planned} bytes are no multiple of the ${minCudaPage} that an NVIDIA GPU maps; plan for cuda`)
    )
  if (placement !== 'virtual') return pageSize === undefined ? E.right(undefined) : E.left(noPagesFailure('static'))
  return E.map((bytes: number): PlanPlacement => ({ allocator: 'virtual', pageBytes: bytes }))(
    pageBytes(pageSize, isCuda ? gpuPages : cpuPages)
  )
}
