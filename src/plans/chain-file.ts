import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Chain, decodeChain } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { readJson } from '../files/read-file'
import { failureCodec } from '../options/codecs'

const decodeNamed = (named: string, value: unknown): E.Either<Failure, Chain> =>
  pipe(
    decodeChain(value),
    E.mapLeft((fault) => inputFailure(`${named}: ${fault}; tilefold research chain writes one`))
  )

/** A chain from a JSON file, or one that JavaScript and casts may have got past the compiler. */
export const loadChain = (chain: Chain | string): E.Either<Failure, Chain> =>
  typeof chain === 'string'
    ? pipe(
        readJson('chain', chain),
        E.chain((value) => decodeNamed(`the chain ${chain}`, value))
      )
    : decodeNamed('the chain', chain)

/** Returns a chain as the text of a file, one stage a line. */
export const chainText = ({ name, beta, stages, output }: Chain): string =>
  [
    '{',
    `  "name": ${JSON.stringify(name)},`,
    `  "beta": ${beta},`,
    '  "stages": [',
    stages.map((stage) => `    ${JSON.stringify(stage)}`).join(',\n'),
    '  ],',
    `  "output": ${JSON.stringify(output)}`,
    '}\n'
  ].join('\n')

/** A chain that JavaScript gives, or one that casts may have got past the compiler. */
export const chainCodec = failureCodec('a chain', (value) => loadChain(value as Chain))
