import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { types } from 'node:util'
import { loadAddon } from './addon'
import { answerOf, type DeviceError } from './error'

declare const mapped: unique symbol
/** Pixels in a file, which may be more than a buffer holds; read by the interpreter alone. Mapped as long as something refers to them. */
export interface MappedPixels {
  readonly [mapped]: true
}

const isMapped = (value: unknown): value is MappedPixels => types.isExternal(value)
const codec = new t.Type<MappedPixels>(
  'mapped pixels',
  isMapped,
  (value, context) => (isMapped(value) ? t.success(value) : t.failure(value, context)),
  t.identity
)

/**
 * `bytes` bytes of a file from `offset` on. It must not change from then on (if it becomes shorter, reading it ends the process), so remove
 * it: what is mapped stays.
 */
export const mapPixels = (path: string, offset: number, bytes: number): E.Either<DeviceError, MappedPixels> =>
  pipe(
    loadAddon(),
    E.chain((addon) => answerOf(codec)(addon.mapPixels({ path, offset, bytes })))
  )
