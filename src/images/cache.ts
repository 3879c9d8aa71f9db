/** Values that are held by name, as far as their bytes go. */
export interface Cache<A> {
  readonly get: (name: string) => A | undefined
  /** Drops what must go before so many bytes more. */
  readonly makeRoom: (bytes: number) => void
  readonly put: (name: string, bytes: number, value: A) => void
}

/**
 * Values by name, the least recently used dropped first when together they exceed `limitBytes`; one
 * that is larger by itself is not held. `release` is called with each that is dropped.
 */
export const makeCache = <A>(limitBytes: number, release: (value: A) => void = () => undefined): Cache<A> => {
  const held = new Map<string, { readonly bytes: number; readonly value: A }>()
  let heldBytes = 0
  const drop = (name: string): void => {
    const dropped = held.get(name)
    if (dropped === undefined) return
    held.delete(name)
    heldBytes -= dropped.bytes
    release(dropped.value)
  }
  const makeRoom = (bytes: number): void => {
    // A Map iterates in order of insertion, so its first entry is the one used longest ago.
    for (const name of held.keys()) {
      if (heldBytes + bytes <= limitBytes) break
      drop(name)
    }
  }
  return {
    get: (name) => {
      const found = held.get(name)
      if (found === undefined) return undefined
      held.delete(name)
      held.set(name, found)
      return found.value
    },
    makeRoom,
    put: (name, bytes, value) => {
      if (bytes > limitBytes) return
      // Steps and what is loaded ahead of them may have asked for the same at once.
      drop(name)
      makeRoom(bytes)
      held.set(name, { bytes, value })
      heldBytes += bytes
    }
  }
}
