import * as E from 'fp-ts/Either'
import { flow, pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { elementCount } from '../../staging/graph/extents'
import { strictObject } from '../../staging/decoding/strict-object'
import { predicateCodec, oneOfCodec } from '../../staging/decoding/predicate-codec'
import {
  byKindCodec,
  decoderCodec,
  extentsCodec,
  flagCodec,
  fromZeroCodec,
  boundedListCodec,
  objectOrCodec,
  pathCodec,
  positiveCodec,
  refuseRepeats,
  textCodec,
  textOrCodec,
  wholeNumberCodec,
  withoutRepeats
} from './codecs'
import { maxElements } from './limits'
import { type GivenNetwork, networkCodec, parseNetwork } from './network'
import type { Kind } from './option'
import { type Size, parseBytes, parseRate, parseSize, parseSizeOrZero } from './sizes'

/** A kind of value that the command line writes as one text. */
export const textKind = <G, D>(
  placeholder: string,
  codec: t.Decoder<unknown, D>,
  parse: (text: string) => E.Either<string, G>
): Kind<G, D> => ({ codec, commandLine: { form: 'text', placeholder, parse } })

/** A kind whose option may be given again, for a longer list. */
export const repeatableKind = <G, D>(
  placeholder: string,
  codec: t.Decoder<unknown, D>,
  parse: (text: string) => E.Either<string, G>,
  mayBeEmpty?: true
): Kind<readonly G[], readonly D[]> => ({
  codec: boundedListCodec(codec),
  commandLine: {
    form: 'text',
    placeholder,
    parse: (text) => E.map((one: G): readonly G[] => [one])(parse(text)),
    isRepeatable: true,
    ...(mayBeEmpty && { mayBeEmpty })
  }
})

/**
 * Reads a text as a value, which a codec then takes; the codec's name says in words what it takes.
 */
export const readAs =
  <A>(codec: t.Type<A>, read: (text: string) => A) =>
  (text: string): E.Either<string, A> => {
    const value = read(text)
    return codec.is(value) ? E.right(value) : E.left(`"${text}" is not ${codec.name}`)
  }

const numeric = (placeholder: string, codec: t.Type<number>, read: (text: string) => number): Kind<number> =>
  textKind(placeholder, codec, readAs(codec, read))

const digits = (text: string): number => (/^\d+$/.test(text) ? Number(text) : NaN)
/** The number that a text is; NaN where it is none. */
export const decimal = (text: string): number => (text.trim() === '' ? NaN : Number(text))

/** Whole numbers within bounds, both included; the command line takes digits alone. */
export const whole = (least: number, most?: number): Kind<number> => numeric('n', wholeNumberCodec(least, most), digits)
/** Finite numbers above 0. */
export const positive = numeric('value', positiveCodec, decimal)
/** Finite numbers from 0 upwards. */
export const fromZero = numeric('value', fromZeroCodec, decimal)

/** Numbers that a codec of their own takes. */
export const number = (codec: t.Type<number>): Kind<number> => numeric('value', codec, decimal)

/** True or false; on the command line an option without a text, which is true. */
export const flag: Kind<boolean> = { codec: flagCodec, commandLine: { form: 'flag' } }

const flagOrWholeCodec = predicateCodec<boolean | number>(
  'true, false or a whole number from 1 upwards',
  (value) => flagCodec.is(value) || wholeNumberCodec(1).is(value)
)

/**
 * True, false, or a whole number from 1 upwards; on the command line an option that may stand
 * alone.
 */
export const flagOrWhole: Kind<boolean | number> = {
  codec: flagOrWholeCodec,
  commandLine: {
    form: 'text',
    placeholder: 'n',
    parse: readAs(wholeNumberCodec(1), digits),
    isOptional: true
  }
}

/** The path of a file, of a folder, or of either. */
export const path = (placeholder: 'file' | 'folder' | 'path'): Kind<string> => textKind(placeholder, pathCodec, E.right)

/** Prefixes of names of parameters; the option may be given again, and the empty one is of all. */
export const prefixes = repeatableKind('prefix', textCodec, (text) => E.right(text), true)

/** The sentence on a text that is none of some choices. */
const choicesText = (choices: readonly string[]): string => `Allowed choices are ${choices.join(', ')}.`

/** A kind whose value is one of some names; `placeholder` says what they are names of. */
export const oneOf = <N extends string>(placeholder: string, names: readonly N[]): Kind<N> => ({
  codec: oneOfCodec(...names),
  commandLine: {
    form: 'text',
    placeholder,
    choices: names,
    parse: (text) =>
      pipe(
        names.find((name) => name === text),
        E.fromNullable(choicesText(names))
      )
  }
})

/** A value or a text that says it; what comes out is the value. */
export const textOrValue = <A>(
  placeholder: string,
  expected: string,
  parse: (text: string) => E.Either<string, A>,
  codec: t.Decoder<unknown, A>
): Kind<A | string, A> => textKind(placeholder, textOrCodec(expected, parse, codec), parse)

/** Extents joined by x on the command line, such as 1x3x512x512, and a list in JavaScript. */
export const extents = (count: number, placeholder: string, example: string): Kind<readonly number[]> =>
  textKind(placeholder, extentsCodec(count), (text) => {
    const values = text.split('x').map((part) => (/^\d+$/.test(part) ? Number(part) : 0))
    if (values.length !== count || values.some((value) => value === 0))
      return E.left(`"${text}" is not ${count} whole numbers above zero joined by x, such as ${example}`)
    return elementCount(values) <= maxElements
      ? E.right(values)
      : E.left(`"${text}" is larger than anything that can be planned: take a smaller one`)
  })

const ofPlain = predicateCodec<number>('a number above zero, at most 10000', (value) => positiveCodec.is(value) && value <= 1e4)

const sizeObject = (least: number): t.Type<Size> =>
  byKindCodec<Size>('a size', {
    bytes: strictObject<Extract<Size, { readonly kind: 'bytes' }>>(
      'a size',
      'field',
      { kind: oneOfCodec('bytes'), bytes: wholeNumberCodec(least) },
      {}
    ),
    ofPlain: strictObject<Extract<Size, { readonly kind: 'ofPlain' }>>(
      'a size',
      'field',
      { kind: oneOfCodec('ofPlain'), fraction: ofPlain },
      {}
    )
  })

const aSize = 'a size such as 256MiB, 20% or a number of bytes'

/** A size: bytes, their text, or a share of what a whole takes (the command line's 20%). */
export type GivenSize = number | string | Size

const sizeBy = (parse: typeof parseSize, least: number): Kind<GivenSize, Size> =>
  textKind(
    'size',
    objectOrCodec<Size, Size>(
      aSize,
      sizeObject(least),
      decoderCodec('a size', (value) =>
        typeof value === 'number' || typeof value === 'string' ? parse(`${value}`) : E.left(`give ${aSize}`)
      )
    ),
    parse
  )

/** Bytes above 0, or a share above 0 of what a whole takes. */
export const size = sizeBy(parseSize, 1)
/** Bytes from 0 upwards, or a share from 0 upwards of what a whole takes. */
export const sizeOrZero = sizeBy(parseSizeOrZero, 0)

/** A kind of bytes, which the command line writes as a text such as 64KiB. */
export const bytes: Kind<number> = textKind('size', wholeNumberCodec(1), parseBytes)

/** A kind of bytes per second, or their text such as 2GB/s. */
export const rate: Kind<number | string, number> = textOrValue<number>(
  'rate',
  'a rate such as 2GB/s, or bytes per second from 1 upwards',
  parseRate,
  wholeNumberCodec(1)
)

/** How fast a network is, or its text such as 100Gb/s,2us. */
export const network: Kind<GivenNetwork | string, GivenNetwork> = textOrValue<GivenNetwork>(
  'rate',
  'a network such as 100Gb/s,2us',
  parseNetwork,
  networkCodec
)

const readList =
  <G>(parse: (text: string) => E.Either<string, G>, most: number) =>
  (text: string): E.Either<string, readonly G[]> => {
    const parts = text.split(',')
    return parts.length > most ? E.left(`it lists ${parts.length}, over the ${most} that it may`) : E.traverseArray(parse)(parts)
  }

/** A list that the command line joins by commas. */
export const commaList = <G, D>(
  placeholder: string,
  codec: t.Decoder<unknown, readonly D[]>,
  parse: (text: string) => E.Either<string, G>,
  most: number
): Kind<readonly G[], readonly D[]> => textKind(placeholder, codec, readList(parse, most))

/** A list of some of these names, as `codec` takes them, and none of them twice. */
export const nameList = <N extends string>(names: readonly N[], codec: t.Type<readonly N[]>): Kind<readonly N[]> => {
  const readName = (text: string): E.Either<string, N> => E.fromNullable(choicesText(names))(names.find((name) => name === text))
  return textKind('names', withoutRepeats(codec), flow(readList(readName, names.length), E.chain(refuseRepeats)))
}
