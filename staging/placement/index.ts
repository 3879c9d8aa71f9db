import { bestFit } from './best-fit'
import { gtbm } from './gtbm'
import type { Allocator } from './placement'
import { placeStatic } from './static'
import { virtual } from './virtual'

/** The ways to place buffers, by name. */
export const allocators = { static: placeStatic, 'best-fit': bestFit, gtbm, virtual } satisfies Record<string, Allocator>

/** The name of a way to place buffers. */
export type AllocatorName = keyof typeof allocators
