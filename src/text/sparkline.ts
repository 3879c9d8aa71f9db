const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/**
 * The latest values as a row of bars between the lowest and the highest of them, one each for at
 * most `width`; what is not finite is a gap.
 */
export const sparkline = (values: readonly number[], width: number): string => {
  const shown = width < 1 ? [] : values.slice(-width)
  const finite = shown.filter(Number.isFinite)
  const [low, high] = [Math.min(...finite), Math.max(...finite)]
  const barOf = (value: number): string => bars[high === low ? 3 : Math.round(((value - low) / (high - low)) * (bars.length - 1))]!
  return shown.map((value) => (Number.isFinite(value) ? barOf(value) : ' ')).join('')
}
