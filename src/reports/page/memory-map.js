/** @typedef {NonNullable<import('../report').Report['step']>} Step */

/**
 * The last rectangle at a time and an address; undefined where nothing is.
 * @param {Step} step
 * @param {number} nanoseconds
 * @param {number} address
 */
const rectangleAt = ({ buffers, lifetimes }, nanoseconds, address) => {
  for (let index = lifetimes.buffer.length - 1; index >= 0; index--) {
    const buffer = lifetimes.buffer[index]
    const offset = buffers.offset[buffer]
    if (address < offset || address >= offset + buffers.bytes[buffer]) continue
    if (lifetimes.from[index] <= nanoseconds && nanoseconds < lifetimes.to[index]) return index
  }
  return undefined
}

/**
 * What a rectangle is, in lines.
 * @param {Step} step
 * @param {number} index
 */
const rectangleLines = ({ buffers, lifetimes, kinds, texts }, index) => {
  const buffer = lifetimes.buffer[index]
  const [from, to] = [lifetimes.from[index] / 1e6, lifetimes.to[index] / 1e6]
  const [offset, bytes, layer] = [buffers.offset[buffer], buffers.bytes[buffer], buffers.layer[buffer]]
  return [
    texts[buffers.name[buffer]],
    ...(layer === -1 ? [] : [`layer ${texts[layer]}`]),
    kinds[buffers.kind[buffer]],
    `${bytesText(bytes)} (${bytes.toLocaleString('en')} bytes) at ${offset.toLocaleString('en')}`,
    `from ${millisecondsText(from)} to ${millisecondsText(to)}, for ${millisecondsText(to - from)}`
  ]
}

/**
 * Every buffer as a rectangle: when it lives, and where.
 * @param {HTMLElement} parent
 * @param {Step} step
 * @param {string} title
 */
const addMemoryMap = (parent, step, title) => {
  const { buffers, lifetimes, addressBytes } = step
  const duration = step.nanoseconds / 1e6
  // As high as the largest memory on the page, so that two maps can be compared.
  // A budget that lies not far above it is shown too.
  const highest = Math.max(...drawnSteps().map((step) => step.addressBytes))
  const shownBytes = Math.max(
    highest,
    ...drawnSteps().map(({ budgetBytes }) => (budgetBytes !== null && budgetBytes <= 1.1 * highest ? budgetBytes : 0))
  )
  /** @type {readonly [number, number]} */
  let shown = [0, shownBytes]
  /** @param {uPlot} u */
  const draw = (u) => {
    const { ctx, bbox } = u
    const [left, right] = [u.valToPos(0, 'x', true), u.valToPos(duration, 'x', true)]
    const [bottom, top] = [u.valToPos(0, 'y', true), u.valToPos(addressBytes, 'y', true)]
    const [perTime, perByte] = [(right - left) / step.nanoseconds, (top - bottom) / addressBytes]
    ctx.save()
    ctx.beginPath()
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
    ctx.clip()
    const paper = styleColour('paper')
    ctx.strokeStyle = paper
    ctx.lineWidth = 1
    for (let index = 0; index < lifetimes.buffer.length; index++) {
      const buffer = lifetimes.buffer[index]
      const x = left + lifetimes.from[index] * perTime
      const width = Math.max(0.6, (lifetimes.to[index] - lifetimes.from[index]) * perTime)
      if (x + width < bbox.left || x > bbox.left + bbox.width) continue
      const height = Math.max(0.6, -buffers.bytes[buffer] * perByte)
      const y = bottom + buffers.offset[buffer] * perByte - height
      ctx.fillStyle = /** @type {string} */ (kindColours[buffers.kind[buffer]])
      ctx.fillRect(x, y, width, height)
      if (width > 3 && height > 3) ctx.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1)
    }
    if (step.budgetBytes !== null && step.budgetBytes <= shownBytes) {
      ctx.strokeStyle = styleColour('warn')
      ctx.setLineDash([8, 5])
      const y = bottom + step.budgetBytes * perByte
      ctx.strokeRect(bbox.left - 2, y, bbox.width + 4, 0)
    }
    ctx.restore()
  }
  const chart = addTimeChart(
    parent,
    {
      height: 440,
      scales: { y: { range: () => [shown[0], shown[1]] } },
      axes: [byteAxis({ label: 'address', labelSize: 20, size: gutter - 20 })],
      hooks: { draw: [draw] },
      onZoom: (range) => {
        shown = range === undefined ? [0, shownBytes] : [Math.max(0, range[0]), Math.min(shownBytes, range[1])]
        chart.setScale('y', { min: shown[0], max: shown[1] })
      }
    },
    [
      [0, duration],
      [0, addressBytes]
    ],
    title
  )
  const outline = element('div', { class: 'over-buffer' })
  chart.over.append(outline)
  chart.over.addEventListener('mousemove', (event) => {
    const { left, top } = chart.over.getBoundingClientRect()
    const [time, address] = [chart.posToVal(event.clientX - left, 'x'), chart.posToVal(event.clientY - top, 'y')]
    const index = rectangleAt(step, time * 1e6, address)
    outline.style.display = index === undefined ? 'none' : 'block'
    if (index === undefined)
      return showTip(event, [`${bytesText(Math.max(0, address))}, ${millisecondsText(Math.max(0, time))}`, 'nothing is here'])
    const buffer = lifetimes.buffer[index]
    const [x0, x1] = [lifetimes.from[index], lifetimes.to[index]].map((one) => chart.valToPos(one / 1e6, 'x'))
    const [y0, y1] = [buffers.offset[buffer] + buffers.bytes[buffer], buffers.offset[buffer]].map((one) => chart.valToPos(one, 'y'))
    const [fromX, fromY] = [Math.max(-2, x0), Math.max(-2, y0)]
    outline.style.left = `${fromX}px`
    outline.style.top = `${fromY}px`
    outline.style.width = `${Math.min(chart.over.clientWidth + 2, x1) - fromX}px`
    outline.style.height = `${Math.min(chart.over.clientHeight + 2, y1) - fromY}px`
    showTip(event, rectangleLines(step, index))
  })
  chart.over.addEventListener('mouseleave', () => {
    outline.style.display = 'none'
    hideTip()
  })
  parent.append(
    legend([
      ...step.kinds.map((text, index) => ({ text, colour: /** @type {string} */ (kindColours[index]) })),
      ...(step.budgetBytes !== null && step.budgetBytes <= shownBytes
        ? [{ text: 'budget', colour: 'var(--warn)', stroke: /** @type {const} */ ('dashed') }]
        : [])
    ])
  )
}
