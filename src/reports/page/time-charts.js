/** Charts that share one axis of time: zooming one zooms all of them. @type {uPlot[]} */
const timeCharts = []

/**
 * @typedef {object} SizedChart
 * @property {uPlot} chart
 * @property {number} height
 * @property {number} beside How many share the width of the page.
 */

/** All charts of the page. @type {SizedChart[]} */
const allCharts = []

/** Pixels left of every chart, so that times stand above each other. */
const gutter = 86

const isOnPaper = () => matchMedia('print').matches

/** Pixels of a chart on paper, so that what is said of it stands on the same page. */
const highestOnPaper = 330

const chartWidth = () => (isOnPaper() ? 1020 : Math.max(320, Math.min(1132, document.documentElement.clientWidth - 48)))

/**
 * An axis in the page's colours.
 * @param {uPlot.Axis} [more]
 * @returns {uPlot.Axis}
 */
const axis = (more = {}) => ({
  stroke: () => styleColour('ink'),
  grid: { stroke: () => styleColour('line'), width: 1 },
  ticks: { stroke: () => styleColour('line'), width: 1 },
  font: '12px system-ui, sans-serif',
  labelFont: '13px system-ui, sans-serif',
  ...more
})

/** @param {uPlot.Axis} [more] */
const byteAxis = (more = {}) => axis({ size: gutter, incrs: byteSteps, values: (_, splits) => byteMarks(splits), space: 34, ...more })

/** @param {number} beside */
const widthOf = (beside) => (chartWidth() < 800 ? chartWidth() : Math.floor((chartWidth() - 20 * (beside - 1)) / beside))

/**
 * A chart as wide as the page, or as so many beside each other.
 * @param {HTMLElement} parent
 * @param {Omit<uPlot.Options, 'width'>} options
 * @param {uPlot.AlignedData} data
 * @param {string} name What those hear who do not see it.
 */
const addChart = (parent, options, data, name, beside = 1) => {
  const place = element('div', { class: 'chart' })
  parent.append(place)
  const chart = new uPlot({ legend: { show: false }, ...options, width: widthOf(beside) }, data, place)
  chart.ctx.canvas.setAttribute('role', 'img')
  chart.ctx.canvas.setAttribute('aria-label', name)
  allCharts.push({ chart, height: options.height, beside })
  return chart
}

/** The steps that the page draws. */
const drawnSteps = () => [report.step, report.recommended?.step].flatMap((step) => step ?? [])

/** Milliseconds that all charts of time show: of the longest step. */
const shownMilliseconds = () => Math.max(...drawnSteps().map(({ nanoseconds }) => nanoseconds / 1e6))

/**
 * Shows the same times in all charts of time.
 * @param {number} min
 * @param {number} max
 */
const zoomTo = (min, max) => timeCharts.forEach((chart) => chart.setScale('x', { min, max }))

/**
 * @typedef {object} TimeChartOptions
 * @property {uPlot.Series[]} [series]
 * @property {(range: readonly [number, number] | undefined) => void} [onZoom] Of the y axis.
 */

/**
 * A chart over the time of a step, in milliseconds; dragging zooms, a double click shows all again.
 * @param {HTMLElement} parent
 * @param {Omit<uPlot.Options, 'width' | 'series'> & TimeChartOptions} options
 * @param {uPlot.AlignedData} data
 * @param {string} name
 */
const addTimeChart = (parent, { scales, axes = [], hooks, series, onZoom, ...options }, data, name) => {
  const duration = shownMilliseconds()
  const chart = addChart(
    parent,
    {
      ...options,
      padding: [10, 16, 0, 0],
      scales: { x: { time: false, range: (_, min, max) => [min ?? 0, max ?? duration] }, ...scales },
      axes: [axis({ values: (_, splits) => timeMarks(splits), space: 90, size: 34 }), ...axes],
      series: series ?? [{}, { paths: () => null, points: { show: false } }],
      cursor: {
        sync: { key: 'time', setSeries: false },
        drag: { x: true, y: onZoom !== undefined, uni: 40, setScale: false },
        points: { show: false },
        bind: {
          dblclick: () => () => {
            onZoom?.(undefined)
            zoomTo(0, duration)
            return null
          }
        }
      },
      hooks: {
        ...hooks,
        setSelect: [
          (u) => {
            const { left, width, top, height } = u.select
            if (width < 3 && height < 3) return
            if (height < u.over.clientHeight && height > 0) onZoom?.([u.posToVal(top + height, 'y'), u.posToVal(top, 'y')])
            if (width >= u.over.clientWidth) u.redraw(false)
            else zoomTo(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'))
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          }
        ]
      }
    },
    data,
    name
  )
  timeCharts.push(chart)
  chart.setScale('x', { min: 0, max: duration })
  return chart
}

/** Draws all again as wide as the page now is, and in its present colours. */
const fitCharts = () => {
  for (const { chart, height, beside } of allCharts) {
    chart.setSize({ width: widthOf(beside), height: isOnPaper() ? Math.min(height, highestOnPaper) : height })
    chart.redraw(false)
  }
}
