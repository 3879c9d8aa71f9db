/** The names of the ways to place buffers. */
export const allocatorNames = ['static', 'best-fit', 'gtbm', 'virtual'] as const
/** The name of a way to place buffers. */
export type AllocatorName = (typeof allocatorNames)[number]
