/**
 * `static` over hard instances with a known solution, cut from a rectangle of time by capacity:
 *
 *     npx ts-node bench/hard-placements.ts [--buffers 100,150,...] [--timepoints 40,100] [--slack 0,0.02,0.05] [--seeds 1,2,3] [--steps N]
 *
 * Prints the height over the capacity and CPU seconds of each, and how many are within it. Steps
 * are those of `static`, in place of its own limit.
 */
import { allocators } from '../staging'
import { cutInstance } from './cut-instance'
import { median } from './median'
import { readCount, readCounts, readNumbers, readOptions } from './options'

const { values } = readOptions({
  options: {
    buffers: { type: 'string', default: '100,150,200,300,500' },
    timepoints: { type: 'string', default: '40,100' },
    slack: { type: 'string', default: '0,0.02,0.05' },
    seeds: { type: 'string', default: '1,2,3' },
    steps: { type: 'string' }
  }
})
const [allBuffers, allTimepoints] = [readCounts('--buffers', values.buffers), readCounts('--timepoints', values.timepoints)]
const [slacks, seeds] = [readNumbers('--slack', values.slack), readCounts('--seeds', values.seeds)]
const stepLimit = values.steps === undefined ? {} : { stepLimit: readCount('--steps', values.steps) }

const measure = (buffers: number, timepoints: number, slack: number, seed: number) => {
  const { lifetimes, capacity } = cutInstance({ seed, buffers, timepoints, slack })
  const { user } = process.cpuUsage()
  const placed = allocators.static(lifetimes, { alignment: 1, capacity, ...stepLimit })
  const seconds = (process.cpuUsage().user - user) / 1e6
  return { ratio: placed.peakBytes / capacity, seconds }
}

for (const slack of slacks)
  for (const buffers of allBuffers)
    for (const timepoints of allTimepoints) {
      const rows = seeds.map((seed) => measure(buffers, timepoints, slack, seed))
      console.log(
        `${buffers} buffers, ${timepoints} timepoints, ${100 * slack}% slack: ${rows.filter(({ ratio }) => ratio <= 1).length} of ${rows.length} placed; ` +
          `${rows.map(({ ratio, seconds }) => `${ratio.toFixed(3)} in ${seconds.toFixed(2)} s`).join(', ')}; ` +
          `median ${median(rows.map(({ seconds }) => seconds)).toFixed(2)} s`
      )
    }
