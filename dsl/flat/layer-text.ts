import { opRecords, type Op, type OpArguments } from '../ops'

/**
 * A layer with all its options in one line of a plan: "conv2d 64 k3 p1", "maxPool2d k2", "linear
 * 2"; a pointwise function by its own name.
 */
export const layerText = (op: Op, args: OpArguments[Op]): string => {
  if ('function' in args) return args.function
  const given = args as Readonly<Record<string, unknown>>
  const words = opRecords[op].options.flatMap((text) => {
    const value = given[text[0]]
    if (text.length === 3) return value === text[1] ? [text[2]] : []
    return value === undefined ? [] : [`${text[1]}${Array.isArray(value) ? value.join('x') : value}`]
  })
  return [op, ...words].join(' ')
}

/** The type of what layerText returns; `string` or `number` stand for what only run time knows. */
export type LayerText<P extends Op, A> = [keyof A] extends [never]
  ? P
  : P extends 'pointwise'
    ? A['function' & keyof A]
    : AppendWords<P, A, (typeof opRecords)[P]['options']>

type AppendWords<Text extends string, A, Options> = Options extends readonly [infer First extends readonly unknown[], ...infer Rest]
  ? First[0] extends keyof A
    ? AppendWords<`${Text}${Word<A[First[0]], First>}`, A, Rest>
    : AppendWords<Text, A, Rest>
  : Text

type Word<V, Option> = Option extends readonly [unknown, infer Letters extends string]
  ? undefined extends V
    ? string
    : ` ${Letters}${Extents<V>}`
  : Option extends readonly [unknown, infer Given, infer Text extends string]
    ? [V] extends [Given]
      ? ` ${Text}`
      : [V] extends [boolean]
        ? boolean extends V
          ? string
          : ''
        : string
    : never
type Extents<V> = V extends number | string
  ? `${V}`
  : V extends readonly [infer First extends number, ...infer Rest extends readonly number[]]
    ? Rest extends readonly []
      ? `${First}`
      : `${First}x${Extents<Rest>}`
    : string
