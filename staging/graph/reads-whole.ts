import { inputInterval } from './axis-access'
import { axisIndex, type Node } from './graph'

/** Whether an op reads its inputs to their edges; of others it may copy the part that it reads. */
export const readsWhole = ({ access, input, output }: Node): boolean =>
  (['H', 'W'] as const).every((axis) => {
    if (access[axis].kind === 'transposedWindow') return false
    const [inputExtent, outputExtent] = [input, output].map((shape) => shape[axisIndex[axis]])
    const { from, to } = inputInterval(access[axis], { from: 0, to: outputExtent! }, inputExtent!).interval
    return from === 0 && to === inputExtent
  })
