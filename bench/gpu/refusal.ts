/** Why a measurement has no figures: the sentence of who refused, and whether memory was what lacked. */
export interface Refusal {
  readonly message: string
  readonly outOfMemory: boolean
}

export const refusal = (message: string, outOfMemory = false): Refusal => ({ message, outOfMemory })

/** For what a deadline did not leave time for. */
export const timeIsUp = refusal('not run: the time was up')
