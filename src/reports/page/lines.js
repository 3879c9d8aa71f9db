/** @typedef {import('../report').Report['charts'][number]} LineChart */

/**
 * Values in words.
 * @param {string} unit
 * @param {number} value
 */
const valueText = (unit, value) =>
  unit === 'bytes'
    ? bytesText(value)
    : unit === 'ms'
      ? millisecondsText(value)
      : `${value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(2) : Number(value.toPrecision(4))} ${unit}`.trim()

/**
 * Lines over the steps of a run.
 * @param {HTMLElement} parent
 * @param {LineChart} chart
 */
const addLines = (parent, { title, unit, lines }) => {
  const [first, ...others] = new Set(lines.flatMap(({ x }) => x))
  const data = uPlot.join(lines.map(({ x, y }) => /** @type {uPlot.AlignedData} */ ([[...x], [...y]])))
  const place = element('div', {}, element('h3', {}, unit === '' || unit === 'ms' || unit === 'bytes' ? title : `${title}, ${unit}`))
  parent.append(place)
  const chart = addChart(
    place,
    {
      height: 210,
      padding: [10, 16, 0, 0],
      scales: { x: { time: false, ...(first === undefined || others.length > 0 ? {} : { range: [first - 1, first + 1] }) } },
      axes: [
        axis({ label: 'step', labelSize: 20, size: 32, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6] }),
        unit === 'bytes'
          ? byteAxis()
          : axis({ size: gutter, values: (_, splits) => splits.map((one) => valueText(unit === 'ms' ? unit : '', one)) })
      ],
      series: [
        {},
        ...lines.map(({ x, isPredicted }, index) => ({
          stroke: isPredicted ? grey : lineColour(index),
          width: 2,
          spanGaps: true,
          ...(isPredicted ? { dash: [8, 5] } : {}),
          points: { show: !isPredicted && x.length <= 60, size: 6 }
        }))
      ],
      cursor: { drag: { x: true, y: false } }
    },
    data,
    2
  )
  chart.over.addEventListener('mousemove', (event) => {
    const index = chart.cursor.idx
    if (index === null || index === undefined) return hideTip()
    const values = lines.flatMap(({ name }, line) => {
      const value = data[line + 1]?.[index]
      return value === null || value === undefined ? [] : [`${name}: ${valueText(unit, value)}`]
    })
    showTip(event, [`step ${data[0][index]}`, ...values])
  })
  chart.over.addEventListener('mouseleave', hideTip)
  place.append(
    legend(
      lines.map(({ name, isPredicted }, index) => ({
        text: name,
        colour: isPredicted ? grey : lineColour(index),
        stroke: isPredicted ? /** @type {const} */ ('dashed') : /** @type {const} */ ('solid')
      }))
    )
  )
}
