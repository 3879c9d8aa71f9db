/** Kinds of what engines do, each with a colour: the first whose pattern a text has. */
const workKinds = [
  { text: 'convolutions and other products', pattern: /^(convolution|linear|winograd|transposed|matrix)/i, colour: blue },
  { text: 'loads and copies over the link', pattern: /^(copy:|loadImage|map memory|unmap memory)/, colour: orange },
  { text: 'other kernels', pattern: /^/, colour: sky }
]

/** @param {string} text */
const workColour = (text) => /** @type {{ colour: string }} */ (workKinds.find(({ pattern }) => pattern.test(text))).colour

/**
 * What each engine does, a row each, on the axis of time.
 * @param {HTMLElement} parent
 * @param {Step} step
 * @param {string} title
 */
const addEngines = (parent, step, title) => {
  const { spans, engines, texts } = step
  const duration = step.nanoseconds / 1e6
  const colours = texts.map(workColour)
  /** The upper edge of an engine's row. @param {number} engine */
  const upper = (engine) => engines.length - engine - 0.12
  const thickness = 0.76
  /** @param {uPlot} u */
  const draw = (u) => {
    const { ctx, bbox } = u
    const left = u.valToPos(0, 'x', true)
    const perTime = (u.valToPos(duration, 'x', true) - left) / step.nanoseconds
    ctx.save()
    ctx.beginPath()
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
    ctx.clip()
    for (let index = 0; index < spans.engine.length; index++) {
      const x = left + spans.from[index] * perTime
      const width = (spans.to[index] - spans.from[index]) * perTime
      if (x + width < bbox.left || x > bbox.left + bbox.width) continue
      const y = u.valToPos(upper(spans.engine[index]), 'y', true)
      const height = u.valToPos(upper(spans.engine[index]) - thickness, 'y', true) - y
      ctx.fillStyle = /** @type {string} */ (colours[spans.text[index]])
      ctx.fillRect(x, y, Math.max(0.5, width > 3 ? width - 1 : width), height)
    }
    ctx.restore()
  }
  const chart = addTimeChart(
    parent,
    {
      height: 60 + 36 * engines.length,
      scales: { y: { range: () => [0, engines.length] } },
      axes: [
        axis({
          size: gutter,
          splits: () => engines.map((_, engine) => engines.length - engine - 0.5),
          values: () => [...engines],
          grid: { show: false },
          ticks: { show: false }
        })
      ],
      hooks: { draw: [draw] }
    },
    [
      [0, duration],
      [0, engines.length]
    ],
    title
  )
  chart.over.addEventListener('mousemove', (event) => {
    const { left, top } = chart.over.getBoundingClientRect()
    const time = chart.posToVal(event.clientX - left, 'x') * 1e6
    const engine = engines.length - 1 - Math.floor(chart.posToVal(event.clientY - top, 'y'))
    const index = spans.engine.findIndex((one, index) => one === engine && spans.from[index] <= time && time < spans.to[index])
    if (index === -1) return showTip(event, [engines[engine] ?? '', `idle at ${millisecondsText(Math.max(0, time / 1e6))}`])
    const [from, to, times] = [spans.from[index] / 1e6, spans.to[index] / 1e6, spans.times[index]]
    showTip(event, [
      texts[spans.text[index]],
      `${engines[engine]}, from ${millisecondsText(from)} to ${millisecondsText(to)}`,
      `${millisecondsText(to - from)}${times > 1 ? `, ${times} launches` : ''}`
    ])
  })
  chart.over.addEventListener('mouseleave', hideTip)
  parent.append(legend(workKinds.map(({ text, colour }) => ({ text, colour }))))
}
