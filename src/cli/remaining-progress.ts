import { formatRemaining } from '../text/format'

const betweenSentences = 10_000

/**
 * Says now and then how far work such as `validating` is, and how long it still takes; nothing of
 * one that ends sooner. `now` is in milliseconds.
 */
export const remainingProgress = (
  work: string,
  say: (text: string) => void,
  now: () => number = () => performance.now()
): ((done: number, total: number) => void) => {
  let [before, began, said] = [Infinity, { at: 0, done: 0 }, 0]
  return (done, total) => {
    const at = now()
    if (done <= before) {
      began = { at, done }
      said = at
    }
    before = done
    if (at - said < betweenSentences || done === total) return
    said = at
    const left = ((at - began.at) / (done - began.done)) * (total - done)
    say(`${work}: ${done}/${total}, ${formatRemaining(left / 1000)} left`)
  }
}
