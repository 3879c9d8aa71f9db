import type { ImageWindow } from '../../native'
import type { Outcome } from '../failure'

/** Reads pixels [height, width, channels] of a window of an image; who asks frees them. */
export type ReadWindow = (window: ImageWindow) => Outcome<Uint8Array>
