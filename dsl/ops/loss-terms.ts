import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'

/**
 * What a loss reads: `classes`, probabilities by softmax and the class of each row or pixel;
 * `binary`, each score by itself by a sigmoid; `overlap`, sums over an image; `values`, differences
 * from what was wanted.
 */
export type LossFamily = 'classes' | 'binary' | 'overlap' | 'values'

interface LossDeclaration {
  readonly family: LossFamily
  /** The loss's options, each with its default, its least and its greatest value. */
  readonly options: Readonly<Record<string, readonly [initial: number, least: number, greatest: number]>>
}

const smoothing = [0, 0, 1] as const
const gamma = [2, 0, 100] as const
const smooth = [1, 0, 1e9] as const

/** The losses of which a formula is a weighted sum. */
export const lossTable = {
  /** −log p of the class, which has 1 − smoothing, and every class smoothing / classes beside. */
  'cross-entropy': { family: 'classes', options: { smoothing } },
  /** −(1 − p)^gamma log p of the class (Lin et al., 2017). */
  focal: { family: 'classes', options: { gamma } },
  /** −t log p − (1 − t) log(1 − p), p = sigmoid(score), t pulled to 1/2 by the smoothing. */
  'binary-cross-entropy': { family: 'binary', options: { smoothing } },
  /**
   * The binary cross-entropy times (1 − p of what is true)^gamma, and times alpha where the target
   * is 1 and 1 − alpha where it is 0; alpha −1 leaves that out (torchvision's sigmoid_focal_loss).
   */
  'binary-focal': { family: 'binary', options: { gamma, alpha: [0.25, -1, 1] } },
  /** 1 − (2 Σpt + smooth) / (Σp + Σt + smooth) (Milletari et al., 2016). */
  dice: { family: 'overlap', options: { smooth } },
  /**
   * 1 − (Σpt + smooth) / (Σpt + alpha Σp(1 − t) + beta Σ(1 − p)t + smooth) (Salehi et al., 2017).
   */
  tversky: { family: 'overlap', options: { alpha: [0.3, 0, 1e9], beta: [0.7, 0, 1e9], smooth } },
  /** (prediction − target)². */
  'mean-squared-error': { family: 'values', options: {} },
  /** |prediction − target|. */
  'mean-absolute-error': { family: 'values', options: {} },
  /** d² / 2 where |d| ≤ delta, else delta (|d| − delta / 2). */
  huber: { family: 'values', options: { delta: [1, 1e-9, 1e9] } }
} as const satisfies Readonly<Record<string, LossDeclaration>>

/** The name of a loss in a formula, such as `dice`. */
export type LossName = keyof typeof lossTable

/** One loss of a sum, with all of its options. */
export interface LossTerm {
  readonly name: LossName
  /** By which it is multiplied. */
  readonly weight: number
  readonly options: Readonly<Record<string, number>>
}

const names = Object.keys(lossTable) as readonly LossName[]
const getDeclaration = (name: LossName): LossDeclaration => lossTable[name]
/** Returns the family of a loss, which says how it takes scores. */
export const getLossFamily = ({ name }: LossTerm): LossFamily => getDeclaration(name).family

const parseNumber = (text: string): number => (/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN)

const parseOptions = (name: LossName, text: string | undefined): E.Either<string, LossTerm['options']> => {
  const { options: known } = getDeclaration(name)
  const options = Object.fromEntries(Object.entries(known).map(([option, [initial]]) => [option, initial]))
  for (const part of text === undefined ? [] : text.split(',')) {
    const [option = '', value = ''] = part.split('=')
    const limits = Object.hasOwn(known, option) ? known[option] : undefined
    if (limits === undefined)
      return E.left(
        `${name} has no option "${option}"; it has ${Object.keys(known).length === 0 ? 'none' : Object.keys(known).join(' and ')}`
      )
    const [, least, greatest] = limits
    const number = parseNumber(value)
    if (!(number >= least && number <= greatest))
      return E.left(`${option} of ${name} must lie in ${least} .. ${greatest}, and is "${value}"`)
    options[option] = number
  }
  return E.right(options)
}

const parseTerm = (text: string): E.Either<string, LossTerm> => {
  const [first = '', ...rest] = text.split('*')
  const [factor, term] = rest.length === 0 ? ['1', first] : [first, rest.join('*')]
  const weight = parseNumber(factor)
  if (!(weight > 0 && Number.isFinite(weight))) return E.left(`"${factor}" is no factor above 0`)
  const [name = '', options] = term.split(/:(.*)/s)
  return names.includes(name as LossName)
    ? pipe(
        parseOptions(name as LossName, options),
        E.map((given) => ({ name: name as LossName, weight, options: given }))
      )
    : E.left(`there is no loss "${name}"; there are ${names.join(', ')}`)
}

/**
 * Reads the formula of a loss: terms joined by +, each a name with perhaps a factor before it and
 * options behind it, as in "dice+0.5*cross-entropy:smoothing=0.1". One sentence says what is wrong.
 */
export const parseLoss = (formula: string): E.Either<string, readonly LossTerm[]> =>
  // The + of an exponent joins nothing.
  E.traverseArray(parseTerm)(formula.split(/(?<!\de)\+/i))
