import type { Engine } from '../../program/program'
import type { Builder } from './builder'

/** Makes an engine wait for all that another one was told so far. */
export const waitForEngine = (builder: Pick<Builder, 'freshEvent' | 'record' | 'wait'>, waiting: Engine, awaited: Engine): void => {
  const event = builder.freshEvent()
  builder.record(awaited, event)
  builder.wait(waiting, event)
}
