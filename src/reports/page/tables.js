/**
 * A table; columns that are named are of numbers.
 * @param {readonly string[]} head
 * @param {readonly (readonly (Node | string)[])[]} rows
 * @param {readonly number[]} [numbers]
 */
const tableOf = (head, rows, numbers = []) => {
  /** @param {number} column @returns {Record<string, string>} */
  const attributes = (column) => (numbers.includes(column) ? { class: 'number' } : {})
  const table = element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...head.map((text, column) => element('th', { scope: 'col', ...attributes(column) }, text)))),
    element('tbody', {}, ...rows.map((cells) => element('tr', {}, ...cells.map((cell, column) => element('td', attributes(column), cell)))))
  )
  return element('div', { class: 'table' }, table)
}

/** @param {import('../report').Report['facts']} facts */
const factList = (facts) =>
  element('dl', { class: 'facts' }, ...facts.map(({ name, text }) => element('div', {}, element('dt', {}, name), element('dd', {}, text))))

/** Rows of what is in memory at the peak; the smallest are added up. */
const peakRows = 12

/**
 * @param {NonNullable<import('../report').Report['binding']>} binding
 * @param {readonly string[]} kinds
 */
const bindingTable = ({ peak }, kinds) => {
  const all = peak.reduce((sum, { bytes }) => sum + bytes, 0)
  const rest = peak.slice(peakRows)
  const shown = [
    ...peak.slice(0, peakRows),
    ...(rest.length === 0 ? [] : [{ what: `${rest.length} more`, layer: '', bytes: rest.reduce((sum, { bytes }) => sum + bytes, 0) }])
  ]
  const rows = shown.map(({ what, layer, bytes }) => {
    const colour = kindColours[kinds.indexOf(what)] ?? grey
    return [
      layer,
      what,
      bytesText(bytes),
      `${((100 * bytes) / all).toFixed(1)} %`,
      element('span', { class: 'bar', style: `width:${(240 * bytes) / all}px;background:${colour}` })
    ]
  })
  return tableOf(['layer', 'what', 'bytes', 'share', ''], rows, [2, 3])
}

/** @param {import('../report').Report['budgets']} budgets */
const budgetTable = (budgets) =>
  tableOf(
    ['budget', 'a step', 'against now', ''],
    budgets.map(({ budgetBytes, milliseconds, differenceMilliseconds, isPresent, isRecommended }) => [
      bytesText(budgetBytes),
      millisecondsText(milliseconds),
      isPresent ? '' : `${millisecondsText(Math.abs(differenceMilliseconds))} ${differenceMilliseconds < 0 ? 'less' : 'more'}`,
      isPresent ? 'this plan' : isRecommended ? 'recommended' : ''
    ]),
    [0, 1, 2]
  )
