import { isCompiledActivation } from '../../dsl'
import { sameAccess } from '../graph/access'
import type { Parameter } from '../graph/graph'
import { getPointwiseFunctions, validateFunction } from '../pointwise/functions'
import { arenaOperand, noOperand } from '../lowering/ir/builder'
import type { TileTensor } from '../lowering/ir/tile-tensor'
import type { NodeParameters } from '../lowering/scope/parameter-tensor'
import type { OpStep } from '../lowering/scope/op-step'
import { tileFields } from '../lowering/scope/regions'
import { sameLayout, type NodeFor, type OpLowering } from './op-lowering'

type PointwiseStep = OpStep<NodeFor<'pointwise'>>

const declareParameters = ({ weight, bias }: NodeFor<'pointwise'>['args'], channels: number): readonly Omit<Parameter, 'name'>[] =>
  ([['weight', weight] as const, ['bias', bias] as const] as const).flatMap(([role, parameter]) =>
    parameter === undefined ? [] : [{ role, shape: [parameter.perChannel === true ? channels : 1], initial: parameter.initial }]
  )

const fields = ({ node: { args } }: PointwiseStep, tile: TileTensor) => ({
  ...tileFields(tile),
  broadcast: 0,
  weightPerChannel: args.weight?.perChannel === true ? 1 : 0,
  biasPerChannel: args.bias?.perChannel === true ? 1 : 0
})

const parameterOperands = (parameters: NodeParameters | undefined) => ({
  weight: parameters?.weight === undefined ? noOperand : arenaOperand(parameters.weight.buffer),
  bias: parameters?.bias === undefined ? noOperand : arenaOperand(parameters.bias.buffer)
})

/** An expression runs forward, and its derivatives, found from it, run back. */
const pointwiseWith = (saves: OpLowering<'pointwise'>['saves']): OpLowering<'pointwise'> => ({
  access: sameAccess,
  parameters: declareParameters,
  // A function of ours goes by its name, whichever way its expression is written.
  identity: (args) => (isCompiledActivation(args) ? [args.function, {}] : ['pointwise', args]),
  validate: (args) => {
    const sentence = validateFunction(args)
    return sentence && `${args.function}: ${sentence}`
  },
  saves,
  inPlace: true,
  outputLayout: sameLayout,
  forward: ({ builder }, step) =>
    builder.launch<'pointwiseForward'>(
      { kind: 'pointwiseForward', ...fields(step, step.source), expression: getPointwiseFunctions(step.node.args).forward },
      { source: step.source.address, second: noOperand, ...parameterOperands(step.parameters), destination: step.destination.address }
    ),
  backward: ({ builder }, step, gradients) => {
    const { backward } = getPointwiseFunctions(step.node.args)
    const read = {
      kept: saves.output === true ? step.destination.address : step.source.address,
      second: noOperand,
      ...parameterOperands(step.parameters),
      destinationGradient: gradients.destination!.address
    }
    // Before the gradient of the input, which may take the place of the output's.
    for (const role of ['weight', 'bias'] as const)
      if (gradients[role] !== noOperand)
        builder.launch<'pointwiseSum'>(
          {
            kind: 'pointwiseSum',
            ...fields(step, step.source),
            rows: step.node.args[role]?.perChannel === true ? 1 : 0,
            expression: backward(role)
          },
          { ...read, sum: gradients[role] }
        )
    if (gradients.source !== undefined)
      builder.launch<'pointwiseBackward'>(
        { kind: 'pointwiseBackward', ...fields(step, gradients.source), expression: backward('input') },
        { ...read, sourceGradient: gradients.source.address }
      )
  }
})

/** One whose derivative is known from its output. */
const pointwiseOfOutput = pointwiseWith({ output: true })

/** A function of single elements by its expression, which devices compile or interpret. */
export const pointwise: OpLowering<'pointwise'> = {
  ...pointwiseWith({ input: 'always' }),
  variant: ({ args }) => (args.derivativeOfOutput === undefined ? undefined : pointwiseOfOutput)
}
