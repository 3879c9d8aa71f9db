const followers = new WeakMap<AbortSignal, Set<AbortController>>()

/**
 * Returns the controllers that follow a signal, which has one listener however many runs it stops:
 * Node warns of more than ten.
 */
const getFollowers = (signal: AbortSignal): Set<AbortController> => {
  const known = followers.get(signal)
  if (known !== undefined) return known
  const controllers = new Set<AbortController>()
  signal.addEventListener('abort', () => controllers.forEach((controller) => controller.abort()))
  followers.set(signal, controllers)
  return controllers
}

/** A controller that aborts with the signal, until it leaves. */
export const linkAbort = (signal: AbortSignal | undefined): { readonly controller: AbortController; readonly leave: () => void } => {
  const controller = new AbortController()
  if (signal === undefined) return { controller, leave: () => undefined }
  if (signal.aborted) controller.abort()
  const controllers = getFollowers(signal)
  controllers.add(controller)
  return { controller, leave: () => void controllers.delete(controller) }
}
