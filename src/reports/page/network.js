/** @typedef {NonNullable<import('../report').Report['network']>} Network */

/** Pixels from the top of a row to the middle of its first line. */
const firstLine = 12

/**
 * Lines from each layer to those that it reads; what is not the layer before goes round.
 * @param {SVGElement} svg
 * @param {Network} network
 * @param {number} from
 * @param {readonly HTMLElement[]} rows Of the layers from there on.
 */
const drawArrows = (svg, { layers }, from, rows) => {
  const tops = rows.map((row) => row.getBoundingClientRect().top)
  const [first = 0] = tops
  /**
   * Beside the first line of a row, which may be higher; above all rows of a layer before them.
   * @param {number} layer
   */
  const centre = (layer) => (layer < from ? 0 : (tops[layer - from] ?? 0) - first + firstLine)
  svg.replaceChildren()
  svg.setAttribute('height', `${centre(from + rows.length - 1) + firstLine}`)
  for (let index = from; index < from + rows.length; index++) {
    for (const input of /** @type {Network['layers'][number]} */ (layers[index]).inputs) {
      const [start, end] = [centre(input), centre(index)]
      if (input === index - 1) svg.append(drawn('path', { d: `M12 ${start} V${end}`, fill: 'none', stroke: 'var(--faint)' }))
      else {
        const reach = 16 + Math.min(40, 4 * (index - input))
        svg.append(
          drawn('path', {
            d: `M12 ${start} C${reach + 10} ${start} ${reach + 10} ${end} 12 ${end}`,
            fill: 'none',
            stroke: purple,
            'stroke-width': 1.5
          })
        )
      }
    }
    svg.append(drawn('circle', { cx: 12, cy: centre(index), r: 3.5, fill: 'var(--ink)' }))
  }
}

/**
 * The layers in the order in which they run, beside the segments that they are cut into.
 * @param {HTMLElement} parent
 * @param {Network} network
 */
const addNetwork = (parent, network) => {
  const { layers, segments } = network
  const most = Math.max(...layers.map(({ outputBytes }) => outputBytes))
  const head = ['segment', '', 'layer', 'op', 'output', 'bytes of it', '']
  const drawings = segments.map(() => drawn('svg', { width: 64, height: 0, 'aria-hidden': 'true' }))
  const rows = segments.flatMap((segment, place) => {
    const { from, to, tiles, backward } = segment
    return layers.slice(from, to).map(({ name, op, output, outputBytes, notes }, index) => {
      const row = element('tr')
      if (index === 0) {
        const rowspan = `${to - from}`
        row.append(
          element(
            'td',
            { class: 'segment', rowspan, style: `border-left-color:${lineColour(place)}` },
            element('div', {}, tiles),
            element('div', { class: 'faint' }, backward)
          ),
          element('td', { class: 'arrows', rowspan }, /** @type {SVGElement} */ (drawings[place]))
        )
      }
      const bar = element('span', { class: 'bar', style: `width:${(110 * outputBytes) / most}px;background:${lineColour(place)}` })
      row.append(
        element('td', { class: 'name', title: name }, name),
        element('td', {}, op),
        element('td', {}, output.join(' × ')),
        element('td', {}, bar, ` ${bytesText(outputBytes)}`),
        element('td', { class: 'faint' }, notes.join(', '))
      )
      return row
    })
  })
  const table = element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...head.map((text) => element('th', { scope: 'col' }, text)))),
    element('tbody', {}, ...rows)
  )
  parent.append(element('div', { class: 'network', tabindex: '0' }, table))
  // Rows are as high as fonts and words make them.
  new ResizeObserver(() =>
    segments.forEach(({ from, to }, place) => drawArrows(/** @type {SVGElement} */ (drawings[place]), network, from, rows.slice(from, to)))
  ).observe(table)
}
