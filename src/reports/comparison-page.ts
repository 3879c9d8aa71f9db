import { type Report, emptyReport } from './report'

interface ComparedPlan {
  readonly strategy: string
  readonly budgetBytes: number
  readonly peakDeviceBytes: number | null
  readonly predictedStepMs: number | null
}

/** The page of strategies beside each other; `model` and `input` say of what. */
export const comparisonPage = (rows: readonly ComparedPlan[], model: string, input: readonly number[]): Report => ({
  ...emptyReport(`${model}: time over memory`, `input ${input.join(' × ')}; steps by the simulator`),
  comparison: {
    strategies: [...new Set(rows.map(({ strategy }) => strategy))],
    plans: rows.map(({ strategy, budgetBytes, peakDeviceBytes, predictedStepMs }) => ({
      strategy,
      budgetBytes,
      peakBytes: peakDeviceBytes,
      milliseconds: predictedStepMs
    }))
  }
})
