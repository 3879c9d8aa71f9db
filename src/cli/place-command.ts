import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type PlaceReport, place } from '../commands/research/place'
import type { PlaceOptions } from '../option-tables/research-options'
import { formatMilliseconds } from '../text/format'
import type { CommandResult } from './command-result'

const placeText = ({ placement, buffers, height, maxLive, ratio, optimal, unusableFreeSpace, ms }: PlaceReport): string =>
  `${placement}: ${buffers} buffers in ${height} bytes, ${ratio.toFixed(4)} of the ${maxLive} live at once` +
  `${optimal ? ' (no placement is lower, padding aside)' : ''}; of what is free ${(100 * unusableFreeSpace).toFixed(1)}% is in blocks too small ` +
  `for what is asked; ${formatMilliseconds(ms)}`

/**
 * The command `research place`: addresses of buffers from a file, and the peak bytes that they
 * take.
 */
export const placeCommand = (options: PlaceOptions): CommandResult =>
  pipe(
    place(options),
    TE.map((report) => ({ json: report, text: placeText(report) }))
  )
