import { compiledActivations } from '../../dsl'
import { operandCount, operations, type Operation } from '../../dsl/internal'
import { getPointwiseFunctions } from './functions'

export { operandCount, operations, type Operation }

/** Encoded expressions that the devices' compilers know; others they interpret. */
export const compiledExpressions: readonly { readonly name: string; readonly code: readonly number[] }[] = compiledActivations.flatMap(
  ({ args }) => {
    const { forward, backward } = getPointwiseFunctions(args)
    return [
      { name: `${args.function}Forward`, code: forward },
      { name: `${args.function}Backward`, code: backward('input') }
    ]
  }
)
