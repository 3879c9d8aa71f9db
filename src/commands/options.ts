import { type Command, InvalidArgumentError, Option } from 'commander'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model, Plan } from '../../dsl'
import type { Head, HeadOptions } from '../../models'
import type { ParameterGroup, StrategyName } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { loadModel } from '../load-model'
import { decodeOptimizer } from '../optimizer'
import { loadPlan } from '../plan-file'
import type { Setup } from '../planning'
import { type Size, parseSize } from '../sizes'
import type { ObjectiveOptions } from '../training/objective'
import { parseGroup } from '../training/parameter-groups'

/** The options that every command takes, as commander hands them over. */
export interface SetupOptions {
  readonly input?: readonly number[]
  /** Of train: height and width. */
  readonly crop?: readonly number[]
  readonly classes?: number
  readonly head: Head
  readonly budget?: Size
  readonly device: Setup['device']
  readonly precision?: 'float32' | 'float64'
  readonly strategy: StrategyName
  readonly plan?: string
  readonly threads?: number
  readonly exactKernels?: true
  readonly seed: number
  readonly json?: true
}

/** What an update of the weights is. */
export interface OptimizerOptions {
  readonly optimizer: string
  readonly momentum?: number
  readonly weightDecay?: number
  readonly accumulate?: number
  readonly clipNorm?: number
  readonly freeze?: readonly string[]
  readonly group?: readonly ParameterGroup[]
}

/** A parser for commander, which wants sentences thrown. */
export const orInvalid =
  <A>(parse: (text: string) => E.Either<string, A>) =>
  (text: string): A =>
    pipe(
      parse(text),
      E.getOrElse((sentence): A => {
        throw new InvalidArgumentError(sentence)
      })
    )

/** An option that may be given more than once. */
const repeated =
  <A>(parse: (text: string) => A) =>
  (text: string, before: readonly A[] | undefined): readonly A[] => [...(before ?? []), parse(text)]

export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): E.Either<string, number> =>
    /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most
      ? E.right(Number(text))
      : E.left(`"${text}" is not a whole number from ${least} ${most === Number.MAX_SAFE_INTEGER ? 'upwards' : `to ${most}`}`)

export const positiveNumber = (text: string): E.Either<string, number> =>
  Number(text) > 0 && Number.isFinite(Number(text)) ? E.right(Number(text)) : E.left(`"${text}" is not a number above zero`)

const anyNumber = (text: string): E.Either<string, number> =>
  text.trim() !== '' && Number.isFinite(Number(text)) ? E.right(Number(text)) : E.left(`"${text}" is not a number`)

/** Extents joined by x, such as 1x3x512x512. */
export const extents =
  (count: number, example: string) =>
  (text: string): E.Either<string, readonly number[]> => {
    const values = text.split('x').map((part) => (/^\d+$/.test(part) ? Number(part) : 0))
    if (values.length !== count || values.some((value) => value === 0))
      return E.left(`"${text}" is not ${count} whole numbers above zero joined by x, such as ${example}`)
    return values.reduce((product, value) => product * value, 1) <= mostElements
      ? E.right(values)
      : E.left(`"${text}" is larger than anything that can be planned: take a smaller one`)
  }

/** Of an input: above, bytes of what networks make of it are no exact numbers any more, and no machine holds them. */
const mostElements = 2 ** 40

const defaultClasses = 1000

/** As many as a device takes. */
const mostThreads = 1024

export const addSetupOptions = (command: Command): Command =>
  command
    .argument('<model>', 'vgg11, vgg13, vgg16, vgg19, darknet19, or a TypeScript module whose default export is a model')
    .option('--input <BxCxHxW>', 'batch, channels, height, width', orInvalid(extents(4, '1x3x1024x1024')))
    .option('--classes <n>', 'classes of a built-in model', orInvalid(wholeNumber(1)))
    .addOption(new Option('--head <kind>', 'end of a built-in model').choices(['gap', 'classic']).default('gap'))
    .option('--budget <size>', 'device memory: bytes, KiB MiB GiB, KB MB GB, or N% of what plain needs', orInvalid(parseSize))
    .addOption(new Option('--device <name>', 'where it runs').choices(['cpu', 'reference']).default('cpu'))
    .addOption(new Option('--precision <type>', 'of the reference device (default: float64)').choices(['float32', 'float64']))
    .addOption(
      new Option('--strategy <name>', 'how memory is planned').choices(['auto', 'plain', 'chen', 'chen-sqrt', 'sft']).default('auto')
    )
    .addOption(new Option('--plan <file>', 'a plan file in place of a strategy: *.plan.ts or *.json').conflicts('strategy'))
    .option('--threads <n>', 'threads (default: all)', orInvalid(wholeNumber(1, mostThreads)))
    .option('--exact-kernels', 'refuse kernels that round differently: no convolution runs by Winograd')
    .option('--seed <n>', 'of initial weights, order, crops, dropout', orInvalid(wholeNumber(0)), 0)
    .option('--json', 'one JSON object on standard output')

export const addOptimizerOptions = (command: Command): Command =>
  command
    .addOption(new Option('--optimizer <name>', 'changes bytes').choices(['sgd', 'adam', 'adamw']).default('sgd'))
    .option('--momentum <value>', 'of sgd (default: 0.9)', orInvalid(anyNumber))
    .option('--weight-decay <value>', '(default: 0; adamw 0.01)', orInvalid(anyNumber))
    .option('--accumulate <n>', 'micro-batches whose gradients make one step (default: 1)', orInvalid(wholeNumber(1)))
    .option('--clip-norm <value>', 'scale gradients down to this norm, over all of them', orInvalid(positiveNumber))
    .option('--freeze <prefix...>', 'parameters that stay as they are, by prefix of their names, such as features.0')
    .option(
      '--group <prefix:rate=x,decay=y>',
      'times the learning rate, and weight decay, of parameters by prefix; may be given again',
      repeated(orInvalid(parseGroup))
    )

/** Options that are there, and nothing for those that are not. */
export const present = <O extends object>(options: O): { [K in keyof O]?: Exclude<O[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof O]?: Exclude<O[K], undefined> }

export const objectiveOf = (options: OptimizerOptions): E.Either<Failure, ObjectiveOptions> => {
  const { optimizer, momentum, weightDecay, accumulate, clipNorm, freeze, group } = options
  return pipe(
    decodeOptimizer({ optimizer, momentum, weightDecay }),
    E.bimap(inputFailure, (optimizer) => ({ optimizer, ...present({ accumulate, clipNorm, freeze, group }) }))
  )
}

/** --crop sets height and width of what the network sees; batch and channels are --input's, the model's, or 1 and 3. */
const withInput = (model: Model, { input, crop }: SetupOptions, plan: Plan | undefined): E.Either<Failure, readonly number[]> => {
  const whole = input ?? model.input ?? plan?.input
  return E.fromNullable(inputFailure(`${model.name} has no input of its own: give --input, such as --input 1x3x1024x1024`))(
    crop === undefined ? whole : [...(whole ?? [1, 3]).slice(0, 2), ...crop]
  )
}

const setupFields = ({ device, precision, strategy, budget, threads, exactKernels }: SetupOptions): Omit<Setup, 'model' | 'input'> => ({
  device,
  strategy,
  ...(precision === undefined ? {} : { precision }),
  ...(budget === undefined ? {} : { budget }),
  ...(threads === undefined ? {} : { threads }),
  ...(exactKernels && { exactKernels })
})

/** Of a built-in model; `classes` is what the data say, where there are data. */
export const headOptionsOf = (options: SetupOptions, classes = defaultClasses): HeadOptions => ({
  classes: options.classes ?? classes,
  head: options.head
})

const planOf = ({ plan }: SetupOptions): E.Either<Failure, Plan | undefined> => (plan === undefined ? E.right(undefined) : loadPlan(plan))

/** The model of the command line with its input; `classes` is what the data say, where there are data. */
export const setupOf = (name: string, options: SetupOptions, classes = defaultClasses): E.Either<Failure, Setup> =>
  pipe(
    options.device === 'cpu' && options.precision === 'float64'
      ? E.left(inputFailure('--precision float64: the cpu computes in float32; take --device reference'))
      : loadModel(name, headOptionsOf(options, classes)),
    E.bindTo('model'),
    E.bind('plan', () => planOf(options)),
    E.bind('input', ({ model, plan }) => withInput(model, options, plan)),
    E.map(({ model, input, plan }): Setup => ({ model, input, ...setupFields(options), ...(plan && { plan }) }))
  )

/** Like `setupOf`, for a command whose data bring the input's shape. */
export const setupWithoutInput = (name: string, options: SetupOptions): E.Either<Failure, Setup> =>
  pipe(
    loadModel(name, headOptionsOf(options)),
    E.bindTo('model'),
    E.bind('plan', () => planOf(options)),
    E.map(({ model, plan }) => ({
      model,
      ...(options.input === undefined ? {} : { input: options.input }),
      ...setupFields(options),
      ...(plan && { plan })
    }))
  )
