import type { NodeParameters, ParameterTensor } from '../lowering/scope/parameter-tensor'

/** Returns the parameters of an op that always has weights. */
export const requireParameters = (
  parameters: NodeParameters | undefined
): { readonly weight: ParameterTensor; readonly bias: ParameterTensor | undefined } => ({
  weight: parameters!.weight!,
  bias: parameters!.bias
})
