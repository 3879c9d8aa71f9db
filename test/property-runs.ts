import { inSystems } from './in-systems'

const { TILEFOLD_PROPERTY_RUNS: asked, TILEFOLD_PROPERTY_SEED: seed = '2026' } = process.env

/**
 * Of a property: `count` draws in the long tests, the first fifth of them in the others, or
 * TILEFOLD_PROPERTY_RUNS. They are the same in every run, so that what fails is the change and not
 * the draw (in float32 an input within rounding of a kink may flip it); TILEFOLD_PROPERTY_SEED
 * draws others, new ones each time where it is `random`.
 */
export const propertyRuns = (count: number, inShortTests = Math.ceil(count / 5)) => ({
  numRuns: Number(asked ?? (inSystems ? count : inShortTests)),
  includeErrorInReport: true,
  ...(seed === 'random' ? {} : { seed: Number(seed) })
})
