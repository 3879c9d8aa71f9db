/** @typedef {import('../report').Report['charts'][number]} LineChart */

/**
 * A value in words, with four digits, or as many as tell it from others of the chart.
 * @param {string} unit
 * @param {number} value
 * @param {number} shown What the axis spans.
 */
const valueText = (unit, value, shown) => {
  if (unit === 'bytes') return bytesText(value)
  if (unit === 'ms') return millisecondsText(value)
  const distance = 10 ** Math.floor(Math.log10(Math.min(Math.abs(value) || shown, shown) / 1000))
  return `${numberText(value, distance)} ${unit}`.trim()
}

/**
 * The axis of values of such a unit.
 * @param {string} unit
 * @param {boolean} isLogarithmic
 */
const valueAxis = (unit, isLogarithmic) => {
  if (unit === 'bytes') return byteAxis()
  if (unit === 'ms') return axis({ size: gutter, values: (_, splits) => timeMarks(splits) })
  if (!isLogarithmic) return axis({ size: gutter, incrs: numberSteps, values: (_, splits) => numberMarks(splits) })
  return axis({
    size: gutter,
    incrs: numberSteps,
    splits: (_, _axis, min, max) => logarithmicSplits(min, max),
    filter: (_, splits) => splits,
    values: (_, splits) => splits.map((one) => numberText(one, one))
  })
}

/**
 * Lines over the steps of a run.
 * @param {HTMLElement} parent
 * @param {LineChart} chart
 */
const addLines = (parent, { title, unit, lines, isLogarithmic }) => {
  const [first = 1, ...others] = new Set(lines.flatMap(({ x }) => x))
  const isOneStep = others.length === 0
  const data = uPlot.join(
    lines.map(({ x, y, isPredicted }) =>
      // What is predicted goes across the chart of a single step too.
      isOneStep && isPredicted
        ? [
            [first - 1, first, first + 1],
            [...y, ...y, ...y]
          ]
        : /** @type {uPlot.AlignedData} */ ([[...x], [...y]])
    )
  )
  const place = element('div', {}, element('h3', {}, unit === '' || unit === 'ms' || unit === 'bytes' ? title : `${title}, ${unit}`))
  parent.append(place)
  const chart = addChart(
    place,
    {
      height: 210,
      padding: [10, 30, 0, 0],
      scales: { x: { time: false, ...(isOneStep ? { range: [first - 1, first + 1] } : {}) }, y: isLogarithmic ? { distr: 3 } : {} },
      axes: [
        axis({ label: 'step', labelSize: 20, size: 32, incrs: numberSteps.filter((step) => step >= 1) }),
        valueAxis(unit, isLogarithmic)
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
    title,
    2
  )
  chart.over.addEventListener('mousemove', (event) => {
    const index = isOneStep ? data[0].indexOf(first) : chart.cursor.idx
    if (index === null || index === undefined) return hideTip()
    const { min = 0, max = 0 } = chart.scales.y ?? {}
    const values = lines.flatMap(({ name }, line) => {
      const value = data[line + 1]?.[index]
      return value === null || value === undefined ? [] : [`${name}: ${valueText(unit, value, max - min)}`]
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
