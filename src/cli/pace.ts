import type { StepReport } from '../training/step-report'

/** How fast a training goes by the clock, with all that lies between steps. */
interface Pace {
  readonly imagesPerSecond: number
  readonly pixelsPerSecond: number
  readonly secondsLeft: number
}

/** Steps over which the pace is taken: validations even out, and a change shows soon. */
const window = 20

/** A function from each step, in turn, to the pace of the latest ones; `now` in milliseconds. */
export const trainingPace = (now: () => number = () => performance.now()): ((report: StepReport) => Pace) => {
  const ends: number[] = []
  return ({ step, steps, milliseconds, images, pixels }) => {
    const end = now()
    // Before the first step lies what is done once, such as opening the network.
    if (ends.length === 0) ends.push(end - milliseconds)
    ends.push(end)
    if (ends.length > window + 1) ends.shift()
    const seconds = Math.max(1e-6, (end - ends[0]!) / 1e3 / (ends.length - 1))
    return { imagesPerSecond: images / seconds, pixelsPerSecond: pixels / seconds, secondsLeft: (steps - step - 1) * seconds }
  }
}
