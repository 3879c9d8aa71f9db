import * as E from 'fp-ts/Either'
import type { Chain } from '../../staging'
// The names alone: help and the version need no searches.
import { defaultSlots, offloadStrategies } from '../../staging/chain/offload-strategies'
import { allocatorNames } from '../../staging/placement/allocator-names'
import type * as ChainFile from '../plans/chain-file'
import { lazyCodec, objectOrCodec, pathCodec } from '../options/codecs'
import { bytes, oneOf, path, size, whole, textKind } from '../options/kinds'
import { maxSlots } from '../options/limits'
import { type Kind, type OptionsOf, argument, withDefault, optional, required } from '../options/option'
import { optimizerOptions } from './optimizer-options'
import { type ModelOptions, bandwidthOptions, modelOptions } from './setup-options'

/** The options of the command `chain`, as a table. */
export const chainOptions = {
  ...modelOptions,
  ...bandwidthOptions,
  ...optimizerOptions,
  /** Where the chain goes: *.json. */
  out: optional(path('file'), 'where the chain goes: *.json')
}

/** Options of the command `chain`. */
export interface ChainOptions extends OptionsOf<typeof chainOptions>, ModelOptions {}

const chain: Kind<Chain | string> = textKind(
  'chain',
  objectOrCodec<Chain, string>(
    'a chain, or the path of one',
    lazyCodec('a chain', () => (require('../plans/chain-file') as typeof ChainFile).chainCodec),
    pathCodec
  ),
  E.right
)

/** The options of the command `offload`, as a table. */
export const offloadOptions = {
  /** A chain, or the path of a JSON file that holds one. */
  chain: argument(chain, 'a *.json file that chain has written'),
  /**
   * Bytes on the device for activations, their gradients and workspaces, or a text: '8GiB', '50%'
   * of what the chain needs without offloading.
   */
  memory: required(size, 'on the device for activations: bytes, KiB MiB GiB, KB MB GB, or N% of what the chain needs'),
  /** How the activations that go to the host are chosen. */
  strategy: withDefault(oneOf('name', offloadStrategies), 'how activations are chosen', 'dynprog'),
  /** Into how many parts `dynprog` divides the memory; 500 where absent. */
  slots: optional(whole(1, maxSlots), 'into how many parts dynprog divides the memory', { otherwise: `${defaultSlots}` })
}

/** Options of the command `offload`. */
export interface OffloadOptions extends OptionsOf<typeof offloadOptions> {}

/** The options of the command `place`, as a table. */
export const placeOptions = {
  /** A CSV of id,lower,upper,size rows: buffers of so many bytes, live in [lower, upper). */
  file: argument(path('file'), 'a CSV of id,lower,upper,size rows: bytes, live from lower up to, not including, upper'),
  /** Limit of the height in bytes; a placement above it fails. None where absent. */
  capacity: optional(bytes, 'what is enough; more than that fails', { otherwise: 'no limit' }),
  /** Name of the allocator that places the buffers. */
  placement: withDefault(oneOf('name', allocatorNames), 'how buffers are placed', 'static'),
  /** Bytes of a page under `virtual`; 4096 where absent. */
  pageSize: optional(bytes, 'of memory under virtual', { otherwise: '4096 bytes', formerly: 'chunk' }),
  /**
   * Path of the rows to write with a column `offset` (an address of the virtual space under
   * `virtual`), if all is within the capacity.
   */
  out: optional(path('file'), 'write the rows with a column offset')
}

/** Options of the command `place`. */
export interface PlaceOptions extends OptionsOf<typeof placeOptions> {}
