import type { Access, Store } from './events'

/** Whether ranks gather all of what each has in a store, one rank's after the other's. */
export const gathersAll = ({ bytes }: Store, sent: Access, received: Access): boolean =>
  sent.base === 0 &&
  sent.run === bytes &&
  sent.repeats.every(({ stride }) => stride === 0) &&
  received.base === 0 &&
  received.run === bytes &&
  received.repeats.every(({ stride }) => stride === bytes)
