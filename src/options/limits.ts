/**
 * The largest that options and files may ask for: above, nothing makes sense or no machine could do
 * it.
 */

/**
 * The most elements of an input: above, bytes of what networks make of it are no exact numbers any
 * more, and no machine holds them.
 */
export const maxElements = 2 ** 40

/** The most threads that a device takes. */
export const maxThreads = 1024

/** The most parts into which offload's dynprog divides the memory: finer than any size is known. */
export const maxSlots = 10_000

/** The most steps of a training: so many would take a week at a millisecond each. */
export const maxSteps = 1e9

/**
 * The most micro-batches of an update, which has a list of them; the largest batches that anybody
 * trains with have as many rows.
 */
export const maxMicroBatches = 2 ** 16

/** The most classes: of each one weight and one count are held, more than anybody tells apart. */
export const maxClasses = 2 ** 20

/** The most budgets that compare takes: each is planned by every strategy. */
export const maxBudgets = 1000

/** The most ranks: plans for micro-batches keep room for what all of them send. */
export const maxRanks = 1024
