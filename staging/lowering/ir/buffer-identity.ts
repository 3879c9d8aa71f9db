import type { KernelKind } from '../../kernels/kernels'

const ofNode = {
  output: (node: string) => `output of ${node}`,
  input: (node: string) => `input of ${node}`,
  indices: (node: string) => `indices of ${node}`,
  operand: (node: string) => `what ${node} reads`,
  moments: (node: string) => `moments of ${node}`,
  maxima: (node: string) => `maxima of ${node}`,
  overlaps: (node: string) => `overlaps of ${node}`,
  'running-moments': (node: string) => `running moments of ${node}`,
  sums: (node: string) => `sums of ${node}`,
  'output-gradient': (node: string) => `gradient of the output of ${node}`,
  'input-gradient': (node: string) => `gradient of the input of ${node}`
} as const

const ofParameter = {
  parameter: (parameter: string) => parameter,
  gradient: (parameter: string) => `the gradient of ${parameter}`,
  'tile-gradient': (parameter: string) => `tile's gradient of ${parameter}`,
  'micro-batch-gradient': (parameter: string) => `micro-batch's gradient of ${parameter}`,
  'cast-weights': (parameter: string) => `${parameter} rounded`,
  'loaded-state': (parameter: string) => `loaded optimizer state of ${parameter}`,
  'loaded-weights': (parameter: string) => `loaded ${parameter}`
} as const

const ofTiles = {
  'reordered-operand': 'an operand in another layout',
  'reordered-gradient': 'gradient in another layout',
  'broadcast-gradient': 'gradient of what is broadcast',
  'gradient-sum': 'sum of gradients',
  seed: 'tile of the output gradient',
  'whole-rows': 'band of whole rows',
  'gradient-rows': 'gradient of whole rows',
  'normalised-tile': 'tile of what is normalised',
  'owned-part': 'the owned part of a tile',
  image: 'input tile',
  'gradient-norm': 'the sum of squares of all gradients',
  'received-gradients': 'gradients of all ranks',
  'received-moments': 'moments of all ranks',
  'own-weights': 'the weights of a rank',
  'received-statistics': 'statistics of all ranks',
  'rows-of-others': 'rows of other ranks',
  'sent-rows': 'rows for a rank',
  'received-rows': 'rows of a rank'
} as const

/**
 * The part of a tensor that a buffer holds, where not a tile: all of it, on the device or on the
 * host; its copy on the host, or back from there; rows that a tile reads, takes, or leaves to the
 * next one.
 */
const forms = {
  tile: (tensor: string) => tensor,
  whole: (tensor: string) => `the ${tensor}`,
  'on-host': (tensor: string) => `the ${tensor} on the host`,
  'swapped-out': (tensor: string) => `${tensor} on the host`,
  'swapped-in': (tensor: string) => `swapped-in ${tensor}`,
  'owned-rows': (tensor: string) => `tile of the ${tensor}`,
  band: (tensor: string) => `band of the ${tensor}`,
  strip: (tensor: string) => `strip of the ${tensor}`
} as const

type NodeBufferKind = keyof typeof ofNode
type BufferForm = keyof typeof forms

/** A tensor of a node, or what is made of one. */
export interface NodeBuffer {
  readonly kind: NodeBufferKind
  readonly node: string
  readonly form: BufferForm
}

/**
 * The purpose of a buffer, as data. Whoever asks what a buffer holds asks this; its text is for
 * people.
 */
export type BufferIdentity =
  | NodeBuffer
  | { readonly kind: keyof typeof ofParameter; readonly parameter: string }
  | { readonly kind: 'state'; readonly parameter: string; readonly state: string }
  | { readonly kind: 'reordered-weights'; readonly parameter: string; readonly layout: string }
  | { readonly kind: 'scratch' | 'refused-scratch'; readonly kernel: KernelKind }
  | { readonly kind: keyof typeof ofTiles }

/**
 * The first kernel among the users of buffers that the device refuses: no memory is enough for it.
 * Undefined where it takes all of them.
 */
export const findRefused = (buffers: readonly { readonly buffer: { readonly identity: BufferIdentity } }[]): KernelKind | undefined => {
  for (const { buffer } of buffers) if (buffer.identity.kind === 'refused-scratch') return buffer.identity.kernel
  return undefined
}

/** A tile of a tensor of a node. */
export const tileIdentity = (kind: NodeBufferKind, node: string): NodeBuffer => ({ kind, node, form: 'tile' })

/** All of a tensor of a node. */
export const wholeIdentity = (kind: NodeBufferKind, node: string): NodeBuffer => ({ kind, node, form: 'whole' })

/** A tensor as plans name it, whatever of it a buffer holds. */
export const tensorText = ({ kind, node }: Pick<NodeBuffer, 'kind' | 'node'>): string => ofNode[kind](node)

/** A buffer in words: what Programs call it. */
export const bufferText = (identity: BufferIdentity): string => {
  if ('node' in identity) return forms[identity.form](tensorText(identity))
  switch (identity.kind) {
    case 'state':
      return `${identity.state}.${identity.parameter}`
    case 'reordered-weights':
      return `${identity.parameter} in layout ${identity.layout}`
    case 'scratch':
    case 'refused-scratch':
      return `scratch of ${identity.kernel}`
    default:
      return 'parameter' in identity ? ofParameter[identity.kind](identity.parameter) : ofTiles[identity.kind]
  }
}

/** A buffer as a sentence has it, with its article. */
export const bufferPhrase = (identity: BufferIdentity): string => {
  const text = bufferText(identity)
  return text.startsWith('the ') ? text : `the ${text}`
}
