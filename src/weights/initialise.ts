import type { Parameter } from '../../staging/graph/graph'
import { randomStream } from '../numbers/random'
import type { StepIo } from '../../native'

/** Weights with one dimension are a normalisation's. */
const isOne = (name: string): boolean => name.endsWith('.weight') || name.endsWith('.running_var')

/**
 * Initial weights as torchvision's VGG has them: convolutions normal with deviation sqrt(2 /
 * fanOut), fanOut = out channels x kernel height x kernel width (He et al., "Delving deep into
 * rectifiers", 2015, fan-out mode; of a transposed convolution, in channels take the place of out
 * channels); linear layers normal with deviation 0.01, and so, as in its SqueezeNet, is a
 * convolution that makes the scores; a normalisation's weights and running variances one; biases
 * and running means zero. Element i of a parameter, in plain order [out, in, kh, kw], is deviation
 * x normal(i) of src/numbers/random.ts's stream (seed, parameter's name), rounded to the target's
 * type.
 */
export const initialise = (
  seed: number,
  name: string,
  shape: readonly number[],
  target: Float32Array | Float64Array,
  makesScores = false
): void => {
  const [out = 1, , kernelHeight = 1, kernelWidth = 1] = shape
  const ofLinear = shape.length === 2 || (shape.length === 4 && makesScores)
  if (ofLinear) randomStream(seed, name).fillNormal(target, 0.01)
  else if (shape.length === 4) randomStream(seed, name).fillNormal(target, Math.sqrt(2 / (out * kernelHeight * kernelWidth)))
  else target.fill(isOne(name) ? 1 : 0)
}

/** The last weight that is drawn; of a network that makes scores, it makes them. */
const lastWeight = (parameters: readonly Parameter[]): Parameter | undefined =>
  parameters.findLast(({ role, initial }) => role === 'weight' && initial === undefined)

/** The name of the last layer with weights, such as `fc`: a convolution, or a linear layer. */
export const lastLayer = (parameters: readonly Parameter[]): string => (lastWeight(parameters)?.name ?? '').replace(/\.?weight$/, '')

/** Draws those parameters that are `wanted` into the I/O buffer of the restore section. */
export const drawParameters = (seed: number, parameters: readonly Parameter[], io: StepIo, wanted: (name: string) => boolean): void => {
  const last = lastWeight(parameters)
  for (const parameter of parameters) {
    if (!wanted(parameter.name)) continue
    const target = io.view(parameter.name) as Float32Array | Float64Array
    if (parameter.initial === undefined) initialise(seed, parameter.name, parameter.shape, target, parameter === last)
    else target.fill(parameter.initial)
  }
}
