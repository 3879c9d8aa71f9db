import type { Op, OpArguments } from './arguments'

/** How options are written, in this order: numbers after a letter or two, flags as a word where they are not the default. */
const numbers = { out: '', rate: '', slope: '', k: 'k', s: 's', p: 'p', d: 'd', groups: 'g', in: 'in' } as const
const flags = {
  bias: { written: false, word: 'no-bias' },
  ceilMode: { written: true, word: 'ceil' },
  countIncludePad: { written: false, word: 'exclude-pad' }
} as const

/** A layer with all its options in one line of a plan: "conv2d 64 k3 p1", "maxPool2d k2", "linear 2". */
export const layerText = (op: Op, args: OpArguments[Op]): string => {
  const given = args as Readonly<Record<string, unknown>>
  const tokens = Object.entries(numbers).flatMap(([option, letters]) => {
    const value = given[option]
    return value === undefined ? [] : [`${letters}${Array.isArray(value) ? value.join('x') : value}`]
  })
  const words = Object.entries(flags).flatMap(([option, { written, word }]) => (given[option] === written ? [word] : []))
  return [op, ...tokens, ...words].join(' ')
}

/** The type of what layerText returns; `string` or `number` stand for what only run time knows. */
export type LayerText<N extends string, A> = [keyof A] extends [never]
  ? N
  : `${N}${Token<A, 'out'>}${Token<A, 'rate'>}${Token<A, 'slope'>}${Token<A, 'k'>}${Token<A, 's'>}${Token<A, 'p'>}${Token<A, 'd'>}${Token<A, 'groups'>}${Token<A, 'in'>}${Flag<A, 'bias'>}${Flag<A, 'ceilMode'>}${Flag<A, 'countIncludePad'>}`

type Token<A, K extends keyof typeof numbers> = K extends keyof A
  ? undefined extends A[K]
    ? string
    : ` ${(typeof numbers)[K]}${Extents<A[K]>}`
  : ''
type Extents<V> = V extends number
  ? `${V}`
  : V extends readonly [infer First extends number, ...infer Rest extends readonly number[]]
    ? Rest extends readonly []
      ? `${First}`
      : `${First}x${Extents<Rest>}`
    : string

type Flag<A, K extends keyof typeof flags> = K extends keyof A
  ? [A[K]] extends [(typeof flags)[K]['written']]
    ? ` ${(typeof flags)[K]['word']}`
    : [A[K]] extends [boolean]
      ? boolean extends A[K]
        ? string
        : ''
      : string
  : ''
