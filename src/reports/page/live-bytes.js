/**
 * A curve up to the end: what is live at the end stays.
 * @param {{ readonly time: readonly number[], readonly bytes: readonly number[] }} live
 * @returns {[number[], number[]]}
 */
const curve = ({ time, bytes }) => [
  time.map((one) => one / 1e6),
  bytes.map((one, index) => (index === bytes.length - 1 && index > 0 ? /** @type {number} */ (bytes[index - 1]) : one))
]

/**
 * The value of a curve at a time; undefined outside of it.
 * @param {[number[], number[]]} points
 * @param {number} time
 */
const valueAt = ([times, values], time) => {
  if (times.length === 0 || time < /** @type {number} */ (times[0]) || time > /** @type {number} */ (times[times.length - 1]))
    return undefined
  let [low, high] = [0, times.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (/** @type {number} */ (times[middle]) <= time) low = middle
    else high = middle - 1
  }
  return values[low]
}

/**
 * Bytes that are live, beside the budget and beside what strategy plain has.
 * @param {HTMLElement} parent
 * @param {Step} step
 * @param {string} title
 */
const addLiveBytes = (parent, step, title) => {
  const duration = step.nanoseconds / 1e6
  /** @param {number} bytes @returns {[number[], number[]]} */
  const level = (bytes) => [
    [0, duration],
    [bytes, bytes]
  ]
  const lines = [
    { text: 'live on the device', colour: green, points: curve(step.live), fill: `${green}55` },
    ...(step.plainLive === null ? [] : [{ text: "live in plain's step", colour: purple, points: curve(step.plainLive) }]),
    ...(step.hostLive.time.length === 0 ? [] : [{ text: 'live on the host', colour: blue, points: curve(step.hostLive) }]),
    ...(step.budgetBytes === null ? [] : [{ text: 'budget', colour: vermilion, points: level(step.budgetBytes), isDashed: true }]),
    { text: "plain's peak", colour: grey, points: level(step.plainPeakBytes), isDashed: true }
  ]
  const most = Math.max(...lines.flatMap(({ points }) => points[1]))
  const chart = addTimeChart(
    parent,
    {
      height: 230,
      scales: { y: { range: () => [0, most * 1.05] } },
      axes: [byteAxis({ label: 'live bytes', labelSize: 20, size: gutter - 20 })],
      series: [
        {},
        ...lines.map(({ colour, isDashed, fill }) => ({
          stroke: colour,
          width: isDashed ? 1.5 : 2,
          ...(fill === undefined ? {} : { fill }),
          ...(isDashed ? { dash: [8, 5] } : {}),
          spanGaps: true,
          points: { show: false },
          paths: isDashed ? uPlot.paths.linear?.() : uPlot.paths.stepped?.({ align: 1 })
        }))
      ]
    },
    uPlot.join(lines.map(({ points }) => /** @type {uPlot.AlignedData} */ (points))),
    title
  )
  chart.over.addEventListener('mousemove', (event) => {
    const time = chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, 'x')
    const values = lines.flatMap(({ text, points }) => {
      const bytes = valueAt(points, time)
      return bytes === undefined ? [] : [`${text}: ${bytesText(bytes)}`]
    })
    showTip(event, [millisecondsText(Math.max(0, time)), ...values])
  })
  chart.over.addEventListener('mouseleave', hideTip)
  parent.append(legend(lines.map(({ text, colour, isDashed }) => ({ text, colour, stroke: isDashed ? 'dashed' : 'solid' }))))
}
