import { Command, CommanderError, Option } from 'commander'
import * as E from 'fp-ts/Either'
import type * as Bench from './cli/bench'
import type * as Chain from './cli/chain'
import type { CommandResult } from './cli/command-result'
import type * as Compare from './cli/compare'
import type * as Explain from './cli/explain'
import type * as Gradients from './cli/gradients'
import type * as Offload from './cli/offload'
import { refuseDoubtful } from './cli/doubtful-options'
import {
  addCompareOptions,
  addMeasureOption,
  addModelOptions,
  addOptimizerOptions,
  addSetupOptions,
  extents,
  orInvalid,
  positiveNumber,
  wholeNumber
} from './cli/options'
import type * as Place from './cli/place'
import type * as Plan from './cli/plan'
import type * as Predict from './cli/predict'
import type * as Profile from './cli/profile'
import type * as Train from './cli/train'
import { type Failure, bugFailure, exitStatus, inputFailure, reasonOf } from './failure'
import { failureText } from './cli/failure-text'
import { interruption } from './cli/interruption'
import { mostSlots, mostSteps } from './options/limits'
import { outliveModules } from './modules/outlive-modules'
import { printableLines } from './text/printable'
import { parseSchedule } from './training/schedule'
import { parseBytes, parseSize } from './options/sizes'
import { parseColourJitter } from './training/augmentation'
import { parseClassWeights } from './training/class-weights'

const fail = (json: boolean, failure: Failure): void => {
  const { error, output } = failureText(json, failure)
  process.stderr.write(error)
  if (failure.thrown instanceof Error) process.stderr.write(`${failure.thrown.stack}\n`)
  // Not even nothing, where writing is what failed.
  if (output !== '') process.stdout.write(output)
  process.exitCode = exitStatus[failure.code]
}

/** Lets what happened meanwhile be heard where the addon, which listens by itself, is not built. */
const listen = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Runs a command and prints its answer or its failure. */
const answer = async (json: boolean | undefined, result: CommandResult): Promise<void> => {
  await listen()
  const outcome = await result()
  await listen()
  interruption().settled()
  if (E.isLeft(outcome)) fail(json === true, outcome.left)
  else process.stdout.write(`${json ? JSON.stringify(outcome.right.json) : printableLines(outcome.right.text)}\n`)
  interruption().ended()
}

/** Each command's code is loaded when it is called, so that no command pays for another's start. */
const program = (): Command => {
  const tilefold = new Command('tilefold')
    .description('Train convolutional networks on images larger than memory, within a budget.')
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      process.stdout.write(`${(require('../package.json') as { readonly version: string }).version}\n`)
      throw new CommanderError(0, 'tilefold.version', '')
    })
  const add = (name: string, description: string): Command => addSetupOptions(tilefold.command(name).description(description))
  const addPlanning = (name: string, description: string): Command => addMeasureOption(add(name, description))

  addOptimizerOptions(addPlanning('plan', 'show how a training step would fit into a budget; run no step'))
    .option('--evaluate', 'plan the forward pass of predict instead')
    .option('--out <file>', 'write the plan: *.plan.ts, which the compiler checks, or *.json')
    .action((model: string, { json, ...options }) =>
      answer(json, (require('./cli/plan') as typeof Plan).planCommand({ ...options, model }))
    )

  addOptimizerOptions(
    addPlanning('explain', 'say what binds the budget, what more memory would buy, what each decision costs; run no step')
  ).action((model: string, { json, ...options }) =>
    answer(json, (require('./cli/explain') as typeof Explain).explainCommand({ ...options, model }))
  )

  addOptimizerOptions(
    addCompareOptions(tilefold.command('compare').description('every strategy within every budget, by the simulator; run nothing'))
  ).action((model: string, { json, ...options }) =>
    answer(json, (require('./cli/compare') as typeof Compare).compareCommand({ ...options, model }))
  )

  addOptimizerOptions(addPlanning('train', 'train on labelled images, or on images with masks of their pixels'))
    .requiredOption('--data <path>', 'a CSV of path,label or path,mask rows, or a folder with one folder of images a class')
    .option('--check-data', 'read every image whole before anything else, to find those that are damaged')
    .option('--steps <n>', 'how many steps', orInvalid(wholeNumber(1, mostSteps)))
    .option('--epochs <n>', 'how many times through the data (default: 1)', orInvalid(positiveNumber))
    .option('--lr <value>', 'learning rate (default: sgd 0.01, adam and adamw 0.001)', orInvalid(positiveNumber))
    .addOption(
      new Option('--schedule <name>', 'constant, cosine, or step:EVERY:FACTOR')
        .argParser(orInvalid(parseSchedule))
        .default({ kind: 'constant' }, 'constant')
    )
    .option('--warmup <n>', 'steps over which the learning rate rises before the schedule begins', orInvalid(wholeNumber(0, mostSteps)))
    .option(
      '--crop <HxW>',
      'random crops of this size (default: of the input size); smaller images are enlarged',
      orInvalid(extents(2, '512x512'))
    )
    .option('--flip', 'random horizontal and vertical flips')
    .option('--rotate', 'random turns by 90, 180 and 270 degrees')
    .option(
      '--colour-jitter <b,c,s,h>',
      'random brightness, contrast, saturation (factors 1-x to 1+x) and hue (turns from -h to h, linear in YIQ)',
      orInvalid(parseColourJitter)
    )
    .option('--class-weights <list>', 'balanced (by images, or pixels), or one number a class, such as 1,2.5', orInvalid(parseClassWeights))
    .option(
      '--validation <path|share>',
      'images like --data, or a share of its own such as 0.2, drawn by class from the seed; the middle crop of each counts'
    )
    .option('--validate-every <n>', 'steps between validations (default: an epoch)', orInvalid(wholeNumber(1)))
    .option('--best <file>', 'safetensors to write the weights of the best validation to')
    .addOption(new Option('--best-by <measure>', 'what is best (default: loss)').choices(['loss', 'accuracy', 'auc', 'iou']))
    .option('--early-stop <n>', 'stop after so many validations in a row without a better one', orInvalid(wholeNumber(1)))
    .option('--metrics <file>', 'JSON lines to write: an object a step and a validation')
    .option('--weights <file>', 'safetensors to start from (default: drawn from the seed)')
    .option('--save <file>', 'safetensors to write in the end')
    .option('--state <folder>', 'keep in it what is needed to go on after a crash')
    .option('--state-every <n>', 'steps between states (default: an epoch, at most 100)', orInvalid(wholeNumber(1)))
    .option('--resume', 'go on from the newest state, with the same bits as if nothing had happened')
    .action((model: string, { json, ...options }) =>
      answer(json, (require('./cli/train') as typeof Train).trainCommand({ ...options, model }, json))
    )

  addPlanning('gradients', 'one forward and backward without dropout; writes the loss and all gradients')
    .requiredOption('--weights <file>', 'safetensors of the parameters')
    .requiredOption('--batch <file>', 'safetensors of input [B, C, H, W] and target [B], or [B, H, W]')
    .requiredOption('--out <file>', 'safetensors to write')
    .action((model: string, { json, ...options }) =>
      answer(json, (require('./cli/gradients') as typeof Gradients).gradientsCommand({ ...options, model }))
    )

  addPlanning('predict', 'one forward pass over a whole image, within the budget: a mask of its classes, or its scores')
    .requiredOption('--weights <file>', 'safetensors of the parameters and running statistics')
    .requiredOption('--image <file>', 'PNG, JPEG, TIFF or WebP; its size is the input')
    .option('--out <file>', 'of a model that scores pixels, the mask to write: *.tif (in tiles) or *.png, 8-bit grey')
    .action((model: string, { json, ...options }) =>
      answer(json, (require('./cli/predict') as typeof Predict).predictCommand({ ...options, model }))
    )

  addOptimizerOptions(addPlanning('bench', 'time real training steps on noise'))
    .option('--steps <n>', 'how many steps', orInvalid(wholeNumber(1, mostSteps)), 3)
    .option('--breakdown', 'show where the time of the fastest step went, by kernel')
    .action((model: string, { json, ...options }) =>
      answer(json, (require('./cli/bench') as typeof Bench).benchCommand({ ...options, model }))
    )

  tilefold
    .command('place')
    .description('place buffers with known lifetimes in as little memory as can be')
    .argument('<file>', 'a CSV of id,lower,upper,size rows: bytes, live from lower up to, not including, upper')
    .option('--capacity <size>', 'what is enough; more than that fails', orInvalid(parseBytes))
    .addOption(new Option('--placement <name>', 'how').choices(['static', 'best-fit', 'gtbm', 'virtual']).default('static'))
    .option('--chunk <size>', 'of memory under virtual (default: 4096 bytes)', orInvalid(parseBytes))
    .option('--out <file>', 'write the rows with a column offset')
    .option('--json', 'one JSON object on standard output')
    .action((file: string, { json, ...options }) =>
      answer(json, (require('./cli/place') as typeof Place).placeCommand({ ...options, file }))
    )

  addOptimizerOptions(add('profile', 'measure the kernels of a model on this machine, for better plans'))
    .option('--out <file>', 'of cuda: a *.json file of this GPU, from which the same plans are made on any machine by --device')
    .action((model: string, { json, ...options }) =>
      answer(json, (require('./cli/profile') as typeof Profile).profileCommand({ ...options, model }))
    )

  addOptimizerOptions(
    addModelOptions(tilefold.command('chain').description('write a model as a chain of stages, for offload; run nothing'))
  )
    .option('--out <file>', 'where the chain goes: *.json')
    .action((model: string, { json, ...options }) =>
      answer(json, (require('./cli/chain') as typeof Chain).chainCommand({ ...options, model }))
    )

  tilefold
    .command('offload')
    .description("choose which of a chain's activations go to the host, and when; run nothing")
    .argument('<chain>', 'a *.json file that chain has written')
    .requiredOption(
      '--memory <size>',
      'on the device for activations: bytes, KiB MiB GiB, KB MB GB, or N% of what the chain needs',
      orInvalid(parseSize)
    )
    .addOption(new Option('--strategy <name>', 'how activations are chosen (default: dynprog)').choices(['greedy', 'dynprog', 'vdnn']))
    .option('--slots <n>', 'into how many parts dynprog divides the memory (default: 500)', orInvalid(wholeNumber(1, mostSlots)))
    .option('--json', 'one JSON object on standard output')
    .action((chain: string, { json, ...options }) =>
      answer(json, (require('./cli/offload') as typeof Offload).offloadCommand({ ...options, chain }))
    )
  refuseDoubtful(tilefold)
  return tilefold
}

/** commander's complaint as a sentence of ours: "--budget: ...". */
const usageMessage = (text: string): string => {
  const plain = text.replace(/^error: /, '').trim()
  const [, option, reason] = /^option '(--[\w-]+)[^']*' argument '.*?' is invalid\. (.*)$/s.exec(plain) ?? []
  return (option === undefined ? plain : `${option}: ${reason}`).replace(/\s*\n\s*/g, ' ')
}

/** Whoever reads the output may stop, as `head` does, and work goes on; a disk that is full is said. */
const outliveOutput = (): void => {
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', (thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'EPIPE') fail(false, inputFailure(`the standard output cannot be written: ${reasonOf(thrown)}`))
  })
}

/** The whole command line; sets the process's exit status. */
export const main = async (argv: readonly string[]): Promise<void> => {
  const json = argv.includes('--json')
  outliveOutput()
  interruption(json)
  const quietly = (command: Command): Command => {
    command.exitOverride().configureOutput({ outputError: () => undefined, writeErr: () => undefined })
    command.commands.forEach(quietly)
    return command
  }
  const answered = outliveModules((failure) => fail(json, failure))
  try {
    await quietly(program()).parseAsync([...argv])
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) {
      fail(json, bugFailure(thrown))
    } else if (thrown.exitCode !== 0) {
      const noCommand = thrown.code === 'commander.help'
      fail(
        json,
        inputFailure(
          noCommand
            ? 'give a command: plan, explain, compare, train, predict, gradients, bench, place, profile, chain or offload; --help says more'
            : usageMessage(thrown.message)
        )
      )
    }
  } finally {
    answered()
  }
}

if (require.main === module) void main(process.argv)
