import { createRequire } from 'node:module'
import type * as Hub from '@huggingface/hub'

let loaded: typeof Hub | undefined

/** Loaded at first use, where weights come from the hub; throws a sentence where it is missing. */
export const loadHub = (): typeof Hub => {
  if (loaded !== undefined) return loaded
  const requireHere = createRequire(__filename)
  try {
    requireHere.resolve('@huggingface/hub')
  } catch {
    throw new Error('the package @huggingface/hub, which downloads weights, is not installed: run npm install @huggingface/hub@2')
  }
  return (loaded = requireHere('@huggingface/hub') as typeof Hub)
}
