/**
 * The ways to offload a chain: GREEDY, DYNPROG and VDNN (Beaumont 2020, sections 4.2, 5.3 and 6.1).
 */
export const offloadStrategies = ['greedy', 'dynprog', 'vdnn'] as const
/** The name of a way to offload a chain. */
export type OffloadStrategy = (typeof offloadStrategies)[number]

/** Slots of DYNPROG; 500 is the paper's. */
export const defaultSlots = 500
