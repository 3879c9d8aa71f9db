import type { Program, StepTimeline } from '../../staging'
import { formatBytes } from '../text/format'
import type { BindingPart } from './report'

/** The layers' parts of what is live at one time, largest first. */
const peakParts = ({ buffers }: Program, { lifetimes }: StepTimeline, time: number): BindingPart['peak'] => {
  const sums = new Map<string, BindingPart['peak'][number]>()
  for (const { buffer, from, to } of lifetimes) {
    if (time < from || time >= to) continue
    const { kind: what, layer: owner, bytes } = buffers[buffer]!
    const layer = what === 'parameters' || what === 'optimizer state' ? '' : (owner ?? '')
    const key = `${what} ${layer}`
    sums.set(key, { what, layer, bytes: bytes + (sums.get(key)?.bytes ?? 0) })
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes)
}

/** What is in memory where the most is, and the layer that binds the budget by it. */
export const bindingPart = (program: Program, timeline: StepTimeline): BindingPart => {
  const changes = timeline.lifetimes.flatMap(({ buffer, from, to }) => {
    const { bytes } = program.buffers[buffer]!
    return [
      { time: from, bytes },
      { time: to, bytes: -bytes }
    ]
  })
  changes.sort((a, b) => a.time - b.time || a.bytes - b.bytes)
  let [live, most, at] = [0, 0, 0]
  for (const { time, bytes } of changes) {
    live += bytes
    if (live > most) [most, at] = [live, time]
  }
  const peak = peakParts(program, timeline, at)
  const ofLayers = new Map<string, number>()
  for (const { layer, bytes } of peak) if (layer !== '') ofLayers.set(layer, (ofLayers.get(layer) ?? 0) + bytes)
  const [layer, bytes] = [...ofLayers].sort((a, b) => b[1] - a[1])[0] ?? []
  const sentence =
    layer === undefined || bytes === undefined
      ? `At the peak of ${formatBytes(most)} no layer's tensors are in memory.`
      : `${layer} binds: of the ${formatBytes(most)} that are live at the peak it has the most, ${formatBytes(bytes)}.`
  return { sentences: [sentence], peak }
}
