/** @typedef {NonNullable<import('../report').Report['comparison']>} Comparison */
/**
 * @typedef {object} Point
 * @property {string} strategy
 * @property {number} bytes
 * @property {number} milliseconds
 * @property {number} budget
 */

/**
 * The points that no other beats in both memory and time, from small to large.
 * @param {readonly Point[]} points
 */
const frontOf = (points) => {
  let best = Infinity
  return [...points]
    .sort((a, b) => a.bytes - b.bytes || a.milliseconds - b.milliseconds)
    .filter(({ milliseconds }) => {
      const isBetter = milliseconds < best
      if (isBetter) best = milliseconds
      return isBetter
    })
}

/**
 * Each point, and how many others it is drawn around: those of other strategies in the same place.
 * @param {readonly Point[]} points
 */
const ringsOf = (points) => {
  /** @type {Map<string, string[]>} */
  const places = new Map()
  return points.map((point) => {
    const key = `${point.bytes} ${point.milliseconds}`
    const there = places.get(key) ?? []
    if (!there.includes(point.strategy)) there.push(point.strategy)
    places.set(key, there)
    return { point, around: there.indexOf(point.strategy) }
  })
}

/** Shapes of points, so that colour is not all that tells them apart. */
const markers = ['circle', 'square', 'triangle', 'diamond']

/** @param {number} index */
const markerOf = (index) => {
  const turns = Math.floor(index / lineColours.length)
  return /** @type {string} */ (markers[(index + turns) % markers.length])
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} marker
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
const drawMarker = (ctx, marker, x, y, r) => {
  ctx.beginPath()
  if (marker === 'circle') ctx.arc(x, y, r, 0, 2 * Math.PI)
  else if (marker === 'square') ctx.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r)
  else if (marker === 'triangle')
    [
      [x, y - 1.2 * r],
      [x + 1.1 * r, y + 0.8 * r],
      [x - 1.1 * r, y + 0.8 * r]
    ].forEach(([px = 0, py = 0]) => ctx.lineTo(px, py))
  else
    [
      [x, y - 1.3 * r],
      [x + 1.3 * r, y],
      [x, y + 1.3 * r],
      [x - 1.3 * r, y]
    ].forEach(([px = 0, py = 0]) => ctx.lineTo(px, py))
  ctx.closePath()
}

/**
 * Time over memory: a point for each plan, a line for what no other plan beats.
 * @param {HTMLElement} parent
 * @param {Comparison} comparison
 */
const addComparison = (parent, { strategies, plans }) => {
  /** @type {readonly Point[]} */
  const points = plans.flatMap(({ strategy, budgetBytes, peakBytes, milliseconds }) =>
    peakBytes === null || milliseconds === null ? [] : [{ strategy, budget: budgetBytes, bytes: peakBytes, milliseconds }]
  )
  if (points.length === 0) return parent.append(element('p', {}, 'No strategy fits any of the budgets.'))
  const front = frontOf(points)
  const [most, slowest] = [Math.max(...points.map(({ bytes }) => bytes)), Math.max(...points.map(({ milliseconds }) => milliseconds))]
  const least = Math.min(...points.map(({ bytes }) => bytes))
  const pixels = devicePixelRatio
  /** @param {uPlot} u */
  const draw = (u) => {
    const { ctx } = u
    /** @param {Point} point */
    const place = ({ bytes, milliseconds }) => ({ x: u.valToPos(bytes, 'x', true), y: u.valToPos(milliseconds, 'y', true) })
    ctx.save()
    ctx.strokeStyle = styleColour('ink')
    ctx.lineWidth = 1.5 * pixels
    ctx.setLineDash([6 * pixels, 4 * pixels])
    ctx.beginPath()
    front.map(place).forEach(({ x, y }, index) => {
      if (index > 0) ctx.lineTo(x, u.valToPos(/** @type {Point} */ (front[index - 1]).milliseconds, 'y', true))
      ctx.lineTo(x, y)
    })
    ctx.stroke()
    ctx.setLineDash([])
    // Points in one place are drawn around each other, the outermost first.
    for (const { point, around } of ringsOf(points).sort((a, b) => b.around - a.around)) {
      const { x, y } = place(point)
      const index = strategies.indexOf(point.strategy)
      ctx.fillStyle = lineColour(index)
      ctx.strokeStyle = styleColour('paper')
      ctx.lineWidth = pixels
      drawMarker(ctx, markerOf(index), x, y, (5 + 3.5 * around) * pixels)
      ctx.fill()
      ctx.stroke()
    }
    ctx.restore()
  }
  const chart = addChart(
    parent,
    {
      height: 420,
      padding: [14, 40, 0, 0],
      scales: {
        x: { time: false, range: () => [Math.max(0, least - (most - least) / 10), most + (most - least) / 12 + 1] },
        y: { range: () => [0, slowest * 1.08] }
      },
      axes: [
        axis({
          incrs: byteSteps,
          values: (_, splits) => byteMarks(splits),
          // On narrow pages two marks have room, and are told apart.
          space: (_, _axis, _min, _max, width) => Math.min(90, width / 4),
          label: 'peak on the device',
          labelSize: 22,
          size: 34
        }),
        axis({ values: (_, splits) => timeMarks(splits), label: 'time of a step', labelSize: 22, size: gutter - 22 })
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      hooks: { draw: [draw] }
    },
    [
      [0, most],
      [0, slowest]
    ],
    'Time over memory'
  )
  chart.over.addEventListener('mousemove', (event) => {
    const { left, top } = chart.over.getBoundingClientRect()
    /** @param {Point} point */
    const distance = ({ bytes, milliseconds }) =>
      Math.hypot(chart.valToPos(bytes, 'x') - (event.clientX - left), chart.valToPos(milliseconds, 'y') - (event.clientY - top))
    const near = points.filter((point) => distance(point) < 14).sort((a, b) => distance(a) - distance(b))
    if (near.length === 0) return hideTip()
    const { bytes, milliseconds } = /** @type {Point} */ (near[0])
    const same = near.filter((point) => point.bytes === bytes && point.milliseconds === milliseconds)
    const names = [...new Set(same.map(({ strategy }) => strategy))].join(', ')
    const budgets = [...new Set(same.map(({ budget }) => bytesText(budget)))].join(', ')
    showTip(event, [names, `${millisecondsText(milliseconds)} with a peak of ${bytesText(bytes)}`, `for a budget of ${budgets}`])
  })
  chart.over.addEventListener('mouseleave', hideTip)
  const symbols = strategies.map((strategy, index) => {
    const marker = markerOf(index)
    const canvas = /** @type {HTMLCanvasElement} */ (
      element('canvas', { width: '28', height: '28', style: 'width:14px;height:14px;vertical-align:-2px', 'aria-hidden': 'true' })
    )
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
    ctx.fillStyle = lineColour(index)
    drawMarker(ctx, marker, 14, 14, 10)
    ctx.fill()
    return element('span', {}, canvas, ` ${strategy}`)
  })
  const frontEntry = legend([{ text: 'no plan is smaller and faster', colour: 'var(--ink)', stroke: 'dashed' }])
  frontEntry.append(...symbols)
  parent.append(frontEntry)
  const budgets = [...new Set(plans.map(({ budgetBytes }) => budgetBytes))]
  const rows = strategies.map((strategy) => [
    strategy,
    ...budgets.map((budget) => {
      const plan = plans.find((one) => one.strategy === strategy && one.budgetBytes === budget)
      return plan === undefined || plan.milliseconds === null ? 'does not fit' : millisecondsText(plan.milliseconds)
    })
  ])
  parent.append(
    tableOf(
      ['strategy', ...budgets.map((budget) => `in ${bytesText(budget)}`)],
      rows,
      budgets.map((_, index) => index + 1)
    )
  )
}
