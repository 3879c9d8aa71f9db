import type { SectionRun } from '../../staging'

/** Keeps what the latest sections noted as they ran. */
export interface RunRecorder {
  readonly add: (run: SectionRun) => void
  /** From the earliest to the latest. */
  readonly runs: () => readonly SectionRun[]
}

/** More make a file that no viewer opens with ease. */
const [maxRuns, maxTimestamps] = [8, 400_000]

const countTimestamps = ({ timestamps }: SectionRun): number => timestamps.reduce((sum, { length }) => sum + length, 0)

/** Keeps at most 8 sections, and as few more than 200,000 launches as whole sections are. */
export const createRunRecorder = (): RunRecorder => {
  const runs: SectionRun[] = []
  return {
    add: (run) => {
      runs.push(run)
      while (runs.length > maxRuns || (runs.length > 1 && runs.reduce((sum, one) => sum + countTimestamps(one), 0) > maxTimestamps))
        runs.shift()
    },
    runs: () => runs
  }
}
