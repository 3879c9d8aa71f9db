import * as E from 'fp-ts/Either'
import type { Parameter } from '../../staging/graph/graph'
import { hasPrefix } from '../../staging/graph/objective'
import { type Failure, inputFailure } from '../failure'
import { lastLayer } from './initialise'
import type { StoredTensor, WeightFile } from './weight-file'

/** Which parameters are drawn anew although weights are given. */
export interface Resets {
  /** Whether the weights of the last layer with weights are drawn anew. */
  readonly newHead: boolean
  /** Prefixes of the names of weights that are drawn anew. */
  readonly reset: readonly string[]
}

/** A parameter, or a tensor of a file, by its name. */
export interface NamedTensor {
  readonly name: string
  readonly shape: readonly number[]
}

/** The shares that a file has in the parameters and running statistics of a network. */
export interface WeightMatch {
  readonly loaded: readonly NamedTensor[]
  /** Drawn anew; `stored` is the shape that the file has under the name, where it has one. */
  readonly drawn: readonly (NamedTensor & { readonly stored?: readonly number[] })[]
  /**
   * Tensors of the file that are not read; the counts that PyTorch saves beside running statistics
   * are not listed.
   */
  readonly leftOver: readonly NamedTensor[]
}

const shapeText = (shape: readonly number[]): string => `[${shape.join(', ')}]`

const floatTypes = ['F32', 'F64', 'F16', 'BF16']

/**
 * Tells whether a tensor is the count that PyTorch saves beside the running statistics of a batch
 * normalisation; nothing here reads it.
 */
const isBatchCount = (name: string, names: ReadonlySet<string>): boolean =>
  name.endsWith('.num_batches_tracked') && names.has(name.replace(/num_batches_tracked$/, 'running_mean'))

/** Heads that torchvision's files hold for training; the models here have none. */
const auxiliaryHeads: ReadonlyMap<string, string> = new Map([
  ['inception_v3', 'AuxLogits'],
  ['deeplabv3_resnet50', 'aux_classifier'],
  ['deeplabv3_resnet101', 'aux_classifier'],
  ['fcn_resnet50', 'aux_classifier'],
  ['fcn_resnet101', 'aux_classifier']
])

/** The layer of a parameter: `layer1.0.conv1` of `layer1.0.conv1.weight`. */
const layerName = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('.')))

const moduleName = (name: string): string => name.split('.', 1)[0]!

/** What a file and a network are matched by; without `resets` nothing can be drawn anew. */
interface Matching {
  readonly file: WeightFile
  readonly model: string
  readonly parameters: readonly Parameter[]
  readonly resets: Resets | undefined
}

/** What to do about a parameter that the file has not, or in another shape; begins with ": ". */
const remedyFor = ({ model, parameters, resets }: Matching, { name, shape }: Parameter, stored?: StoredTensor): string => {
  const isLast = hasPrefix(name, lastLayer(parameters))
  const otherClasses = isLast && stored !== undefined && stored.shape.slice(1).join() === shape.slice(1).join()
  const otherInputs = stored?.shape.length === 2 && shape.length === 2 && stored.shape[0] === shape[0]
  if (resets === undefined) {
    if (otherClasses) return `: give a model of ${stored.shape[0]} classes (of a built-in one by --classes), or weights of ${shape[0]}`
    return otherInputs
      ? `: the layers before it make ${shape[1]} numbers of an image, not ${stored.shape[1]}; where flatten is one of them, give an image of the size of the training, or take a model that pools`
      : ''
  }
  return isLast
    ? ': give --new-head to draw the last layer anew'
    : `: give the weights of ${model}, or --reset ${layerName(name)} to draw ${layerName(name)} anew`
}

/**
 * Names the tensor of the file that a missing parameter may be, under another name: the first of
 * its shape that nothing reads.
 */
const sameShape = ({ file, model, parameters }: Matching, { shape }: Parameter): string => {
  const known = new Set(parameters.map(({ name }) => name))
  const other = [...file.tensors].find(([name, stored]) => !known.has(name) && stored.shape.join() === shape.join())?.[0]
  return other === undefined ? '' : ` (it has ${other} of this shape, which ${model} has not)`
}

/** What is wrong with a parameter that is to be read; undefined where nothing is. */
const findFault = (matching: Matching, parameter: Parameter): string | undefined => {
  const [{ file, model }, { name, shape }] = [matching, parameter]
  const stored = file.tensors.get(name)
  if (stored === undefined)
    return `lacks ${name} ${shapeText(shape)}, which ${model} needs${sameShape(matching, parameter)}${remedyFor(matching, parameter)}`
  if (stored.shape.join() !== shape.join())
    return `${name} is ${shapeText(stored.shape)} where ${model} needs ${shapeText(shape)}${remedyFor(matching, parameter, stored)}`
  return floatTypes.includes(stored.type) ? undefined : `${name} is ${stored.type}; weights are F32, F64, F16 or BF16`
}

/**
 * The tensor that says that the file is another network's: one that is not read, and that no option
 * leaves out. With a new head, whole modules of the file may have no counterpart, as other heads.
 */
const findStranger = (
  { model, resets }: Matching,
  loaded: readonly NamedTensor[],
  leftOver: readonly NamedTensor[]
): string | undefined => {
  const auxiliary = auxiliaryHeads.get(model)
  const modules = new Set(loaded.map(({ name }) => moduleName(name)))
  const mayStay = (name: string): boolean =>
    (auxiliary !== undefined && hasPrefix(name, auxiliary)) ||
    (resets?.reset.some((prefix) => hasPrefix(name, prefix)) ?? false) ||
    (resets?.newHead === true && !modules.has(moduleName(name)))
  return leftOver.find(({ name }) => !mayStay(name))?.name
}

const checkPrefixes = ({ file, model, parameters, resets }: Matching): string | undefined => {
  const names = [...parameters.map(({ name }) => name), ...file.tensors.keys()]
  const unmatched = resets?.reset.find((prefix) => !names.some((name) => hasPrefix(name, prefix)))
  const [first, last] = [parameters[0]?.name, parameters.at(-1)?.name]
  return unmatched === undefined
    ? undefined
    : `--reset ${unmatched} names nothing in it or in ${model}, whose first parameter is ${first}, the last ${last}`
}

/**
 * Matches a file and a network. The file must hold each parameter and running statistic that is not
 * drawn anew, in its shape, and nothing that says that it is another network's. Fails with code
 * `input` and a sentence on the first tensor that does not fit.
 */
export const matchWeights = (matching: Matching): E.Either<Failure, WeightMatch> => {
  const { file, model, parameters, resets } = matching
  const fail = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`${file.path}: ${fault}`))
  const unmatched = checkPrefixes(matching)
  if (unmatched !== undefined) return fail(unmatched)
  const prefixes = [...(resets?.reset ?? []), ...(resets?.newHead ? [lastLayer(parameters)] : [])]
  const isDrawn = ({ name }: Parameter): boolean => prefixes.some((prefix) => hasPrefix(name, prefix))
  const read = parameters.filter((parameter) => !isDrawn(parameter))
  const [stored] = file.tensors.keys()
  if (read.length > 0 && stored !== undefined && !parameters.some(({ name }) => file.tensors.has(name)))
    return fail(`holds ${stored} and no parameter of ${model}, whose first is ${parameters[0]!.name}: give the weights of ${model}`)
  for (const parameter of read) {
    const fault = findFault(matching, parameter)
    if (fault !== undefined) return fail(fault)
  }
  const loaded = read.map(({ name, shape }) => ({ name, shape }))
  const drawn = parameters.filter(isDrawn).map(({ name, shape }) => {
    const stored = file.tensors.get(name)
    return { name, shape, ...(stored && { stored: stored.shape }) }
  })
  const known = new Set(parameters.map(({ name }) => name))
  const leftOver = [...file.tensors].flatMap(([name, { shape }]) => (known.has(name) || isBatchCount(name, known) ? [] : [{ name, shape }]))
  const stranger = findStranger(matching, loaded, leftOver)
  if (stranger === undefined) return E.right({ loaded, drawn, leftOver })
  const remedy = resets === undefined ? '' : `: give the weights of ${model}, or --reset ${layerName(stranger)} to leave that out`
  return fail(`holds ${stranger}, which ${model} has not${remedy}`)
}
