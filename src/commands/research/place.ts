import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type AllocatorName, allocators, maxLive, unusableFreeSpace } from '../../../staging'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { checkWritable } from '../../files/atomic-write'
import { checkPaths, namedPaths } from '../../files/paths'
import { libraryFunction } from '../../options/decode-options'
import type { DecodedOptions } from '../../options/option'
import { type PlaceOptions, placeOptions } from '../../option-tables/research-options'
import { noPagesFailure } from '../../plans/resolve-placement'
import { type NamedBuffer, readBuffers, writeBuffers } from './buffer-file'

type Options = DecodedOptions<typeof placeOptions>

/** How an allocator placed buffers: the height that it reached, in bytes. */
export interface PlaceReport {
  readonly placement: AllocatorName
  readonly buffers: number
  /** Highest byte in use, plus one. */
  readonly height: number
  /** Most bytes live at once: no placement is lower. */
  readonly maxLive: number
  /** Height over most bytes live at once; 1 where there are none. */
  readonly ratio: number
  readonly capacity: number | null
  /** True if the height is within the capacity. */
  readonly feasible: boolean
  /** True if no placement can be lower, the padding of the last buffer aside. */
  readonly optimal: boolean
  /**
   * The mean share of the bytes free when a buffer is asked for that lie in blocks too small for
   * it: U_f of Yang 2020, equation (1).
   */
  readonly unusableFreeSpace: number
  /** Milliseconds of wall-clock time for the placement alone. */
  readonly ms: number
}

/** The least that a CPU maps, in bytes. */
export const defaultPageSize = 4096

const placeBuffers = (buffers: readonly NamedBuffer[], { capacity, placement, pageSize = defaultPageSize }: Options) => {
  const started = performance.now()
  const placed = allocators[placement](buffers, { alignment: 1, pageBytes: pageSize, ...(capacity === undefined ? {} : { capacity }) })
  const ms = performance.now() - started
  const most = maxLive(buffers, 1).bytes
  const report: PlaceReport = {
    placement,
    buffers: buffers.length,
    height: placed.peakBytes,
    maxLive: most,
    ratio: most === 0 ? 1 : placed.peakBytes / most,
    capacity: capacity ?? null,
    feasible: placed.peakBytes <= (capacity ?? Infinity),
    optimal: placed.optimal,
    unusableFreeSpace: unusableFreeSpace(buffers, placed),
    ms
  }
  return { report, offsets: placed.offsets }
}

const capacityMessage = ({ placement, height, maxLive, capacity }: PlaceReport): string =>
  maxLive > capacity!
    ? `${maxLive} bytes are live at once, over the capacity of ${capacity}; raise --capacity or make lifetimes shorter`
    : `${placement} places the buffers in ${height} bytes, over the capacity of ${capacity}; raise --capacity` +
      (placement === 'static' ? '' : ' or use --placement static')

const checkPages = ({ placement, pageSize }: Options): E.Either<Failure, void> =>
  pageSize === undefined || placement === 'virtual' ? E.right(undefined) : E.left(noPagesFailure(placement))

/** Under virtual each buffer takes whole pages of addresses. */
const checkAddresses = (buffers: readonly NamedBuffer[], { placement, pageSize = defaultPageSize }: Options): E.Either<Failure, void> =>
  placement !== 'virtual' || Number.isSafeInteger(buffers.reduce((sum, { bytes }) => sum + Math.ceil(bytes / pageSize) * pageSize, 0))
    ? E.right(undefined)
    : E.left(inputFailure(`--page-size: in pages of ${pageSize} bytes the buffers take more than 2^53 addresses; give a smaller one`))

/**
 * Places buffers with known lifetimes in as few bytes as it can. `static` stops at the capacity, at
 * the most bytes live at once, or after a fixed number of steps, so that the same file gives the
 * same offsets. Fails with code `input` where the file or an option is wrong, and `budget`, with
 * the report, where the placement exceeds the capacity.
 */
export const place: (options: PlaceOptions) => Outcome<PlaceReport> = libraryFunction('place', placeOptions, (options) =>
  pipe(
    TE.fromEither(checkPages(options)),
    TE.chain(() => checkPaths({ reads: namedPaths('the file', options.file), writes: namedPaths('--out', options.out) })),
    TE.chain(() => (options.out === undefined ? TE.right(undefined) : checkWritable(options.out))),
    TE.chain(() => readBuffers(options.file, options.capacity)),
    TE.chainFirstEitherK((buffers) => checkAddresses(buffers, options)),
    TE.chain((buffers) => {
      const { report, offsets } = placeBuffers(buffers, options)
      if (!report.feasible) return TE.left({ code: 'budget' as const, message: capacityMessage(report), report })
      return pipe(
        options.out === undefined ? TE.right(undefined) : writeBuffers(options.out, buffers, offsets),
        TE.map(() => report)
      )
    })
  )
)
