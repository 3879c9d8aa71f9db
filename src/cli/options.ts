import { type Command, InvalidArgumentError, Option } from 'commander'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { isDeviceText } from '../options/option-values'
import { mostBudgets, mostClasses, mostElements, mostMicroBatches, mostThreads } from '../options/limits'
import { type StrategyName, strategyNames } from '../../dsl'
import { parseRate, parseSize, parseSizeOrZero } from '../options/sizes'
import { parseGroup } from '../training/parameter-groups'

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

const listOf =
  <A>(parse: (text: string) => E.Either<string, A>) =>
  (text: string): E.Either<string, readonly A[]> => {
    const parts = text.split(',')
    return parts.length > mostBudgets
      ? E.left(`it lists ${parts.length}, over the ${mostBudgets} that it may`)
      : E.traverseArray(parse)(parts)
  }

const strategyName = (text: string): E.Either<string, StrategyName> => {
  const found = strategyNames.find((name) => name === text)
  return found === undefined ? E.left(`Allowed choices are ${strategyNames.join(', ')}.`) : E.right(found)
}

const deviceText = (text: string): E.Either<string, string> =>
  isDeviceText(text) ? E.right(text) : E.left('Allowed choices are cpu, cuda, reference, or the path of a *.json file.')

/** What is trained, and on which device. */
export const addModelOptions = (command: Command): Command =>
  command
    .argument(
      '<model>',
      'a built-in name, such as vgg16, resnet50 or deeplabv3plus, or a TypeScript module whose default export is a model'
    )
    .option('--input <BxCxHxW>', 'batch, channels, height, width', orInvalid(extents(4, '1x3x1024x1024')))
    .option('--classes <n>', 'classes of a built-in model', orInvalid(wholeNumber(1, mostClasses)))
    .addOption(new Option('--head <kind>', 'end of a built-in model').choices(['gap', 'classic']).default('gap'))
    .option(
      '--device <name>',
      'cpu, cuda, reference, or a *.json file that describes one to plan for (default: cpu)',
      orInvalid(deviceText)
    )
    .addOption(
      new Option(
        '--precision <type>',
        'cpu: float32; cuda: float32 (default), tf32 or bf16; reference: float64 (default), float32 or bf16; a described device: float32 or float64, a recorded GPU: its own'
      ).choices(['float32', 'tf32', 'bf16', 'float64'])
    )
    .option('--threads <n>', 'threads (default: all)', orInvalid(wholeNumber(1, mostThreads)))
    .option('--json', 'one JSON object on standard output')

const addPlanningOptions = (command: Command): Command =>
  addModelOptions(command)
    .option('--host-budget <size>', 'host memory for what is swapped out; auto swaps only where it is given', orInvalid(parseSizeOrZero))
    .option('--link <rate>', 'limit of the link between device and host, such as 2GB/s', orInvalid(parseRate))
    .addOption(
      new Option('--placement <name>', 'how buffers get their memory (default: static); virtual maps chunks of it').choices([
        'static',
        'virtual'
      ])
    )
    .option(
      '--chunk <size>',
      'of memory under --placement virtual, a multiple of 4096 bytes (default: 64KiB), on cuda of 2MiB (default: 2MiB)',
      orInvalid(parseSize)
    )
    .option('--exact-kernels', 'refuse kernels that round differently: no convolution runs by Winograd or Fourier transforms')

/** Several budgets and strategies in place of one. */
export const addCompareOptions = (command: Command): Command =>
  addPlanningOptions(command)
    .requiredOption('--budgets <sizes>', 'sizes as of --budget, such as 10%,20%,1GiB', orInvalid(listOf(parseSize)))
    .option('--strategies <names>', `some of ${strategyNames.join(',')} (default: all)`, orInvalid(listOf(strategyName)))

export const addSetupOptions = (command: Command): Command =>
  addPlanningOptions(command)
    .option('--budget <size>', 'device memory: bytes, KiB MiB GiB, KB MB GB, or N% of what plain needs', orInvalid(parseSize))
    .addOption(new Option('--strategy <name>', 'how memory is planned').choices(strategyNames).default('auto'))
    .addOption(
      new Option('--plan <file>', 'a plan file in place of a strategy: *.plan.ts or *.json').conflicts(['strategy', 'placement', 'chunk'])
    )
    .option('--seed <n>', 'of initial weights, order, crops, dropout', orInvalid(wholeNumber(0)), 0)

/** Of commands that plan. */
export const addMeasureOption = (command: Command): Command =>
  command.option('--measure', 'first measure the kernels of the plan that were not measured on this machine, and keep their times')

export const addOptimizerOptions = (command: Command): Command =>
  command
    .addOption(new Option('--optimizer <name>', 'changes bytes').choices(['sgd', 'adam', 'adamw']).default('sgd'))
    .option('--momentum <value>', 'of sgd (default: 0.9)', orInvalid(anyNumber))
    .option('--weight-decay <value>', '(default: 0; adamw 0.01)', orInvalid(anyNumber))
    .option('--accumulate <n>', 'micro-batches whose gradients make one step (default: 1)', orInvalid(wholeNumber(1, mostMicroBatches)))
    .option('--clip-norm <value>', 'scale gradients down to this norm, over all of them', orInvalid(positiveNumber))
    .option(
      '--freeze <prefix>',
      'parameters that stay as they are, by prefix of their names, such as features.0; may be given again',
      repeated((text: string) => text)
    )
    .option(
      '--group <prefix:rate=x,decay=y>',
      'times the learning rate, and weight decay, of parameters by prefix; may be given again',
      repeated(orInvalid(parseGroup))
    )
