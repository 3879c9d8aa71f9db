import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { callback, path } from '../options/codecs'
import type { Outcome } from '../failure'
import { type GradientsOptions as Files, type GradientsReport, gradients as runGradients } from '../running/gradients'
import { checkPaths, named } from '../files/paths'
import { watchingOf } from '../plans/measure'
import { answering, optionsOf } from '../options/decode-options'
import { type SetupOptions, modelCodec, runnable, setupCodecs, setupWithoutInput, watchingCodecs } from '../options/setup-options'
import { setupReads } from '../options/setup-reads'

export interface GradientsOptions extends SetupOptions, Omit<Files, keyof SetupOptions> {}

const codec = optionsOf<GradientsOptions>(
  'gradients',
  { ...modelCodec, weights: path, batch: path, out: path },
  { ...setupCodecs, ...watchingCodecs, onPlan: callback() }
)

/**
 * One forward and backward of a batch from a file, without dropout and without an optimizer, at the input [B, C, H, W] that the batch
 * has. Writes a safetensors file with `loss` (mean softmax cross-entropy), `grad.input`, `grad.<parameter>` for each parameter and
 * `after.<buffer>` for running statistics, in the device's precision (of bf16 in float32). Fails with code `input`, `budget` or `loss` (not
 * finite).
 */
export const gradients = answering(codec, (options): Outcome<GradientsReport> => {
  const { weights, batch, out, onPlan } = options
  return pipe(
    checkPaths({
      reads: [...setupReads(options), ...named('--weights', weights), ...named('--batch', batch)],
      writes: named('--out', out)
    }),
    TE.chainEitherK(() => E.chain(runnable)(setupWithoutInput(options))),
    TE.chain((setup) => runGradients({ ...setup, weights, batch, out, ...(onPlan && { onPlan }), ...watchingOf(options) }))
  )
})
