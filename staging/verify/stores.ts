import { stepIoElementBytes, type Program } from '../program/program'
import type { Store } from './events'
import { listSections } from './sections'

/** The words for the spaces of memory in sentences. */
export const spaceNames = { arena: 'the arena', host: 'the host pool', stepIo: 'the I/O buffer' } as const

/**
 * Returns all stores of a Program, and which of them are values of each section's I/O buffer.
 */
export const listStores = (
  program: Program
): { readonly stores: readonly Store[]; readonly stepIoStores: readonly (readonly [number, number])[] } => {
  const stores: Store[] = [
    ...program.buffers.map((buffer): Store => ({ space: 'arena', ...buffer })),
    ...program.hostBuffers.map((buffer): Store => ({ space: 'host', ...buffer }))
  ]
  const stepIoStores = listSections(program).map(([section, { stepIo }]) => {
    const first = stores.length
    for (const { name, type, shape, offset } of stepIo) {
      const bytes = shape.reduce((product, extent) => product * extent, stepIoElementBytes(type))
      const { target: share, summedTarget: summedShare } = (section === 'step' && name === 'target' ? program.shard : undefined) ?? {}
      stores.push({
        ...{ space: 'stepIo', name: `${name} of the I/O buffer`, offset, bytes },
        ...(share && { share }),
        ...(summedShare && { summedShare })
      })
    }
    return [first, stores.length] as const
  })
  return { stores, stepIoStores }
}
