import type { DiskBuffer, Image } from '../../native'
import type { Outcome } from '../failure'

/** Milliseconds, in which a device writes some tens of megabytes at most. */
const leavingInterval = 20

/** Windows are read tile by tile, after what the tile before handed out. */
const leavingBefore =
  ({ leaveToFile }: DiskBuffer) =>
  (image: Image): Image => {
    const { pixels } = image
    if (!('readWindow' in pixels)) return image
    return { ...image, pixels: { ...pixels, readWindow: (window) => (leaveToFile(), pixels.readWindow(window)) } }
  }

/**
 * Runs a step on images so that what a device writes into a file meanwhile does not pile up in
 * memory; without a file just runs it.
 */
export const runLeavingToFile =
  <A>(disk: DiskBuffer | undefined, images: readonly Image[], run: (images: readonly Image[]) => Outcome<A>): Outcome<A> =>
  async () => {
    if (disk === undefined) return run(images)()
    disk.expectScattered(true)
    const timer = setInterval(disk.leaveToFile, leavingInterval)
    return run(images.map(leavingBefore(disk)))().finally(() => {
      clearInterval(timer)
      disk.leaveToFile()
      disk.expectScattered(false)
    })
  }
