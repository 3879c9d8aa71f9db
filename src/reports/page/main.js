/** @type {import('../report').Report} */
const report = JSON.parse(/** @type {HTMLElement} */ (document.getElementById('report')).textContent ?? '')
const page = /** @type {HTMLElement} */ (document.querySelector('main'))

/**
 * A part of the page under a heading, with a sentence on how to read it.
 * @param {string} title
 * @param {string} [words]
 */
const addPart = (title, words) => {
  const part = element('section', {}, element('h2', {}, title), ...(words === undefined ? [] : [element('p', { class: 'faint' }, words)]))
  page.append(part)
  return part
}

page.append(element('h1', {}, report.title), element('div', { class: 'faint' }, report.subtitle), tip)
if (report.facts.length > 0) page.append(factList(report.facts))

if (report.comparison !== null) {
  addComparison(
    addPart('Time over memory', 'Each point is the plan of a strategy within a budget: the further left and down, the better.'),
    report.comparison
  )
}

if (report.charts.length > 0) {
  const charts = element('div', { class: 'run' })
  addPart('The run').append(charts)
  report.charts.forEach((chart) => addLines(charts, chart))
}

if (report.crops.length > 0) {
  addCrops(
    addPart(
      'Validated crops',
      'Some images of the latest validation, made small. Where pixels have classes: the truth, and what the network says.'
    ),
    report
  )
}

if (report.step !== null) {
  const part = addPart(
    'A step in time',
    'As the simulator predicts it. Each rectangle is a buffer: as wide as it lives, as high as it has bytes, and where it lies in the memory.'
  )
  part.append(
    element('p', { class: 'faint hint' }, 'Point at something to see what it is; drag to look closer, double-click to see all again.')
  )
  const { step, recommended } = report
  if (step.joinedNanoseconds > 0)
    part.append(
      element(
        'p',
        {},
        `There is more than can be drawn: of each buffer and engine, what begins within the same ${millisecondsText(step.joinedNanoseconds / 1e6)} is drawn as one.`
      )
    )
  const steps =
    recommended === null
      ? [{ text: '', step }]
      : [
          { text: ': as it is', step },
          { ...recommended, text: `: ${recommended.text}` }
        ]
  for (const [title, add] of /** @type {const} */ ([
    ['Address over time', addMemoryMap],
    ['Live bytes', addLiveBytes],
    ['Engines', addEngines]
  ]))
    for (const { text, step } of steps) {
      part.append(element('h3', {}, title + text))
      add(part, step, title + text)
    }
}

if (report.binding !== null) {
  const part = addPart('What binds the budget')
  part.append(...report.binding.sentences.map((sentence) => element('p', {}, sentence)))
  if (report.budgets.length > 1) part.append(element('h3', {}, 'Other budgets'), budgetTable(report.budgets))
  part.append(element('h3', {}, 'In memory at the peak'), bindingTable(report.binding, report.step?.kinds ?? []))
}

if (report.network !== null) {
  addNetwork(addPart('Segments', 'The layers in the order in which they run, and the segments that a step cuts them into.'), report.network)
  addTiles(
    addPart(
      'Tiles and halos',
      'The grid is what tiles own, drawn on what the segment reads. Of one tile, the dark part is its own, and all that is tinted is what it holds: the rest is its halo.'
    ),
    report.network
  )
}

addEventListener('resize', fitCharts)
addEventListener('beforeprint', fitCharts)
addEventListener('afterprint', fitCharts)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', fitCharts)
matchMedia('print').addEventListener('change', fitCharts)
