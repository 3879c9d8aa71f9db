import { randomStream } from '../numbers/random'

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
