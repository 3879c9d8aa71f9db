import { benchOptions, compareOptions, explainOptions, gradientsOptions, planOptions, profileOptions } from './command-options'
import type { OptionTable } from '../options/option'
import { predictOptions } from './predict-options'
import { chainOptions, offloadOptions, placeOptions } from './research-options'
import { trainOptions } from './train-options'

/** A command: what it is for, and its options. */
export interface CommandSpec {
  readonly description: string
  readonly options: OptionTable
}

/** The commands, in the order of the help; each is a function of the library too. */
export const commandTable = {
  plan: { description: 'show how a training step would fit into a budget; run no step', options: planOptions },
  explain: {
    description: 'say what binds the budget, what more memory would buy, what each decision costs; run no step',
    options: explainOptions
  },
  compare: { description: 'every strategy within every budget, by the simulator; run nothing', options: compareOptions },
  train: { description: 'train on labelled images, or on images with masks of their pixels', options: trainOptions },
  predict: {
    description: 'one forward pass over a whole image, within the budget: a mask of its classes, or its scores',
    options: predictOptions
  },
  gradients: { description: 'one forward and backward without dropout; writes the loss and all gradients', options: gradientsOptions },
  bench: { description: 'time real training steps on noise', options: benchOptions },
  profile: { description: 'measure the kernels of a model on this machine, for better plans', options: profileOptions }
} as const satisfies Readonly<Record<string, CommandSpec>>

/** The commands of `tilefold research`: models of the literature, beside training. */
export const researchTable = {
  chain: { description: 'write a model as a chain of stages, for offload; run nothing', options: chainOptions },
  offload: { description: "choose which of a chain's activations go to the host, and when; run nothing", options: offloadOptions },
  place: { description: 'place buffers with known lifetimes in as little memory as can be', options: placeOptions }
} as const satisfies Readonly<Record<string, CommandSpec>>

/** The line of help above the commands of the literature. */
export const researchDescription = 'models of the literature: chains of stages, offloading, placement of buffers'

/** The name of a command of `tilefold` or of `tilefold research`. */
export type CommandName = keyof typeof commandTable | keyof typeof researchTable
