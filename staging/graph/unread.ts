import { inputInterval, type AxisAccess } from './axis-access'
import { axisIndex, type Graph, type Node } from './graph'

const axes = ['H', 'W'] as const

/** Whether neighbouring outputs may leave something between them that neither reads. */
const leavesGaps = (access: AxisAccess): boolean =>
  access.kind === 'window'
    ? access.stride > access.dilation * (access.kernel - 1) + 1
    : access.kind === 'resize' && access.inExtent > access.outExtent

/** The share that outputs read, one by one, of what all of them span along an axis. */
const shareRead = ({ access, input, output }: Node, axis: (typeof axes)[number]): number => {
  if (!leavesGaps(access[axis])) return 1
  const [inExtent, outExtent] = [input[axisIndex[axis]], output[axisIndex[axis]]]
  const countRead = (from: number, to: number): number => {
    const { interval } = inputInterval(access[axis], { from, to }, inExtent)
    return Math.max(0, interval.to - interval.from)
  }
  let all = 0
  for (let at = 0; at < outExtent; at++) all += countRead(at, at + 1)
  return Math.min(1, all / countRead(0, outExtent))
}

/**
 * A share of what layers compute that no tiles fall below: those of one pixel leave out all that
 * strides pass over, which the whole computes. 1 where strides pass over nothing.
 */
export const leastShareComputed = ({ nodes, readers }: Graph): number =>
  readers
    .slice(1)
    .flatMap((positions) => axes.map((axis) => Math.max(...positions.map((position) => shareRead(nodes[position]!, axis)))))
    .filter((share) => share >= 0)
    .reduce((product, share) => product * share, 1)
