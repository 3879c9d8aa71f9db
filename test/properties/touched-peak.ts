import * as assert from 'uvu/assert'
import type { Program } from '../../staging'

/**
 * The highest byte that is changed is within what is planned, and less than a page below; scratch
 * need not be touched by who asks for it.
 */
export const assertPeakTouched = ({ buffers, peakBytes }: Program, measuredPeakBytes: number): void => {
  const ends = buffers.filter(({ name }) => !name.startsWith('scratch')).map(({ offset, bytes }) => offset + bytes)
  assert.ok(
    measuredPeakBytes <= peakBytes && measuredPeakBytes > Math.max(...ends) - 4096,
    `${measuredPeakBytes} bytes were changed, ${peakBytes} were planned`
  )
}
