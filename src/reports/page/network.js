/** @typedef {NonNullable<import('../report').Report['network']>} Network */

const rowHeight = 25

/**
 * Lines from each layer to those that it reads; what is not the layer before goes round.
 * @param {Network} network
 * @param {number} from
 * @param {number} to
 */
const arrows = ({ layers }, from, to) => {
  const width = 64
  const centre = (/** @type {number} */ layer) => (layer - from + 0.5) * rowHeight
  const svg = drawn('svg', { width, height: (to - from) * rowHeight, 'aria-hidden': 'true' })
  for (let index = from; index < to; index++) {
    for (const input of /** @type {Network['layers'][number]} */ (layers[index]).inputs) {
      const [start, end] = [centre(Math.max(input, from - 0.5)), centre(index)]
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
  return svg
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
  const rows = segments.flatMap((segment, place) => {
    const { from, to, tiles, backward } = segment
    return layers.slice(from, to).map(({ name, op, output, outputBytes, notes }, index) => {
      const row = element('tr', { style: `height:${rowHeight}px` })
      if (index === 0) {
        const rowspan = `${to - from}`
        row.append(
          element(
            'td',
            { class: 'segment', rowspan, style: `border-left-color:${lineColour(place)}` },
            element('div', {}, tiles),
            element('div', { class: 'faint' }, backward)
          ),
          element('td', { class: 'arrows', rowspan }, arrows(network, from, to))
        )
      }
      const bar = element('span', { class: 'bar', style: `width:${(110 * outputBytes) / most}px;background:${lineColour(place)}` })
      row.append(
        element('td', {}, name),
        element('td', {}, op),
        element('td', {}, output.join(' × ')),
        element('td', {}, bar, ` ${bytesText(outputBytes)}`),
        element('td', { class: 'faint' }, notes.join(', '))
      )
      return row
    })
  })
  parent.append(
    element(
      'div',
      { class: 'network', tabindex: '0' },
      element(
        'table',
        {},
        element('thead', {}, element('tr', {}, ...head.map((text) => element('th', {}, text)))),
        element('tbody', {}, ...rows)
      )
    )
  )
}
