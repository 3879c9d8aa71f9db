import type { ExpressionStep } from './expression'

/** Steps of an expression while it is written, each distinct one once. */
export interface StepList {
  readonly steps: readonly ExpressionStep[]
  /** The place of a step, which is appended where it is new. */
  readonly append: (...step: ExpressionStep) => number
}

/** Makes an empty list of the steps of an expression. */
export const createStepList = (): StepList => {
  const steps: ExpressionStep[] = []
  const places = new Map<string, number>()
  const append = (...step: ExpressionStep): number => {
    // -0 is another constant than 0.
    const key = `${step.join()}${Object.is(step[1], -0) ? '-' : ''}`
    const place = places.get(key) ?? steps.push(step) - 1
    places.set(key, place)
    return place
  }
  return { steps, append }
}
