import { join } from 'node:path'
import { describeEnd, runNode } from './bounded'
import type { Check } from './check-options'
import type { Deadline } from './deadline'

/** What one test file said. */
export interface Tested {
  readonly file: string
  readonly passed: number
  readonly failed: number
  readonly seconds: number
  /** What went wrong, in the words of the file. */
  readonly complaint?: string
}

const testFolder = join(__dirname, '..', '..', 'test')

const test = async (file: string, { device, mode, scale }: Check, seconds: number): Promise<Tested> => {
  const ended = await runNode([join(testFolder, `${file}.test.js`)], seconds, {
    FORCE_COLOR: '0',
    TILEFOLD_TEST_DEVICES: device,
    TILEFOLD_PROPERTY_RUNS: `${scale.propertyRuns}`,
    // All seeds of the goldens.
    ...(mode === 'full' && { TILEFOLD_SYSTEMS: '1' })
  })
  const count = (label: string): number => Number(new RegExp(`^ {2}${label}: +(\\d+)`, 'm').exec(ended.stdout)?.[1] ?? 0)
  const [total, passed] = [count('Total'), count('Passed')]
  // A file that ends badly, or tests nothing, has failed whatever it printed.
  const failed = Math.max(total - passed, ended.status !== 0 || total === 0 ? 1 : 0)
  const words = ended.stdout
    .split('\n')
    .filter((line) => /^ +FAIL /.test(line))
    .join('; ')
    .trim()
  return { file, passed, failed, seconds: ended.seconds, ...(failed > 0 ? { complaint: words || describeEnd(ended) } : {}) }
}

/**
 * The compiled test files that know devices, all at once: each is a process that mostly waits for
 * small launches.
 */
export const runSuite = (check: Check, deadline: Deadline): Promise<readonly Tested[]> =>
  Promise.all(check.scale.testFiles.map((file) => test(file, check, deadline.atMost(5 * check.scale.mostSeconds))))
