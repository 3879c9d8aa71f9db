// Sections run on threads of Node's pool, and so is read what they wait for: of those that read
// images by windows fewer run at once than there are threads, or none would read.

/** Threads of Node's pool, as libuv counts them. */
const poolThreads = process.env.UV_THREADPOOL_SIZE === undefined ? 4 : Math.max(Number.parseInt(process.env.UV_THREADPOOL_SIZE, 10) || 1, 1)

/** Whether no section that reads by windows can run, in words; undefined where one can. */
export const noPlaces = (): string | undefined =>
  poolThreads > 1
    ? undefined
    : 'UV_THREADPOOL_SIZE leaves one thread, but images are read while a section runs: set it to 2 or more, or leave it out'

let free = poolThreads - 1
const queue: (() => void)[] = []

/**
 * Takes a place at once, where one is free; else promises whether it was taken. `onWait` is told
 * how to wait no longer: then it was not.
 */
export const takePlace = (onWait: (leave: () => void) => void): true | Promise<boolean> => {
  if (free > 0) {
    free -= 1
    return true
  }
  let [isTaken, isLeft] = [false, false]
  return new Promise<void>((resolve) => {
    const take = (): void => {
      isTaken = true
      resolve()
    }
    queue.push(take)
    onWait(() => {
      isLeft = true
      const place = queue.indexOf(take)
      if (place >= 0) queue.splice(place, 1)
      resolve()
    })
  }).then(() => {
    if (isTaken && isLeft) giveBackPlace()
    return !isLeft
  })
}

/** Gives a place that was taken to who waits longest for one. */
export const giveBackPlace = (): void => {
  const next = queue.shift()
  if (next === undefined) free += 1
  else next()
}
