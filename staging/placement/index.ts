import type { AllocatorName } from './allocator-names'
import { bestFit } from './best-fit'
import { gtbm } from './gtbm'
import type { Allocator } from './placement'
import { placeStatic } from './static'
import { virtual } from './virtual'

export { type AllocatorName } from './allocator-names'

/** The ways to place buffers, by name. */
export const allocators = { static: placeStatic, 'best-fit': bestFit, gtbm, virtual } satisfies Record<AllocatorName, Allocator>
