import * as t from 'io-ts'

/** All of some fields, and no others. */
const exact = <P extends t.Props>(props: P): t.ReadonlyC<t.ExactC<t.TypeC<P>>> => t.readonly(t.exact(t.type(props)))

const numbers = t.readonlyArray(t.number)
const texts = t.readonlyArray(t.string)

/** A row of a table of facts: what, and in words how much. */
const fact = exact({ name: t.string, text: t.string })

/**
 * Buffers of the arena or the host pool as columns, a place each: 20,000 of them stay small. Names,
 * layers and kinds are places in `texts` of the step; -1 where there is no layer.
 */
const buffers = exact({ name: numbers, layer: numbers, kind: numbers, offset: numbers, bytes: numbers })

/** When buffers hold something, as columns; nanoseconds from the step's start. */
const lifetimes = exact({ buffer: numbers, from: numbers, to: numbers })

/** Bytes that are live from each time on, up to the next one; nanoseconds from the step's start. */
const liveBytes = exact({ time: numbers, bytes: numbers })

/** What engines do, as columns: an engine's place in `engines`, texts' in `texts`. */
const spans = exact({ engine: numbers, from: numbers, to: numbers, text: numbers, times: numbers })

/** A step as it is predicted to run. */
const step = exact({
  nanoseconds: t.number,
  /** What begins within the same so many nanoseconds is drawn as one; 0 where all is drawn. */
  joinedNanoseconds: t.number,
  /** Bytes of the arena's addresses; with pages mapped to them, more than its memory. */
  addressBytes: t.number,
  peakBytes: t.number,
  budgetBytes: t.union([t.number, t.null]),
  plainPeakBytes: t.number,
  engines: texts,
  kinds: texts,
  texts,
  buffers,
  lifetimes,
  spans,
  live: liveBytes,
  /** Live bytes of strategy plain; null where the device cannot run it. */
  plainLive: t.union([liveBytes, t.null]),
  /** Live bytes of the host pool; empty where nothing goes there. */
  hostLive: liveBytes
})

const interval = t.readonly(t.tuple([t.number, t.number]))

/** Tiles along one dimension: what each owns of the segment's output, and holds of its input. */
const tilesAlong = exact({
  outputExtent: t.number,
  inputExtent: t.number,
  owned: t.readonlyArray(interval),
  held: t.readonlyArray(interval)
})

const segment = exact({
  /** Half-open range over `layers`. */
  from: t.number,
  to: t.number,
  text: t.string,
  tiles: t.string,
  backward: t.string,
  height: tilesAlong,
  width: tilesAlong
})

const layer = exact({
  name: t.string,
  op: t.string,
  /** Places in `layers` of what it reads; -1 is the network's input. */
  inputs: numbers,
  output: numbers,
  outputBytes: t.number,
  /** Names of convolutions' algorithms, where not the direct one. */
  notes: texts
})

/** Layers in the order in which they run, and the segments that they are cut into. */
const network = exact({ input: numbers, layers: t.readonlyArray(layer), segments: t.readonlyArray(segment) })

/** What is in memory at the peak, largest first. */
const peakPart = exact({ what: t.string, layer: t.string, bytes: t.number })

/** Whatever binds the budget: sentences, and parts of the peak. */
const binding = exact({ sentences: texts, peak: t.readonlyArray(peakPart) })

/** The steps that other budgets would give, from small to large. */
const otherBudget = exact({
  budgetBytes: t.number,
  milliseconds: t.number,
  /** Against the present one. */ differenceMilliseconds: t.number,
  isPresent: t.boolean,
  isRecommended: t.boolean
})

/** The step that a recommended change would give, and the change in words. */
const recommendation = exact({ text: t.string, step })

const comparedPlan = exact({
  strategy: t.string,
  budgetBytes: t.number,
  /** Null where nothing fits. */
  peakBytes: t.union([t.number, t.null]),
  milliseconds: t.union([t.number, t.null])
})

/** Strategies beside each other. */
const comparison = exact({ strategies: texts, plans: t.readonlyArray(comparedPlan) })

/** Points of a line; a y that is null is a gap. */
const line = exact({ name: t.string, x: numbers, y: numbers, isPredicted: t.boolean })

/** Lines over the steps of a run. */
const lineChart = exact({ title: t.string, unit: t.string, lines: t.readonlyArray(line), isLogarithmic: t.boolean })

/** A small picture of a crop; bytes in base64: RGB, and of each pixel the class, 255 for none. */
const crop = exact({
  name: t.string,
  height: t.number,
  width: t.number,
  rgb: t.string,
  target: t.union([t.string, t.null]),
  predicted: t.union([t.string, t.null]),
  /** The notice in words. */
  text: t.string,
  /** The picture under a heat map, and whose. */
  heatMap: t.union([exact({ rgb: t.string, text: t.string }), t.null])
})

/** A class that pixels of crops have: its colour is red, green and blue. */
const pixelClass = exact({ label: t.number, name: t.string, colour: numbers })

/** All that a page draws: data of its own, which knows nothing of how they came about. */
export const reportCodec = exact({
  title: t.string,
  /** The request, as a line under the title. */
  subtitle: t.string,
  facts: t.readonlyArray(fact),
  binding: t.union([binding, t.null]),
  budgets: t.readonlyArray(otherBudget),
  step: t.union([step, t.null]),
  recommended: t.union([recommendation, t.null]),
  network: t.union([network, t.null]),
  comparison: t.union([comparison, t.null]),
  charts: t.readonlyArray(lineChart),
  crops: t.readonlyArray(crop),
  classes: t.readonlyArray(pixelClass)
})

/** All that a page draws. */
export type Report = t.TypeOf<typeof reportCodec>
/** A step as it is predicted to run: nanoseconds, bytes, and what each engine does when. */
export type StepPart = t.TypeOf<typeof step>
/** Layers in the order in which they run, and the segments that they are cut into. */
export type NetworkPart = t.TypeOf<typeof network>
/** A segment of layers, and the tiles that it is cut into. */
export type SegmentPart = t.TypeOf<typeof segment>
/** The tiles of a segment along one dimension, in elements of its output and input. */
export type TilesAlong = t.TypeOf<typeof tilesAlong>
/** What binds the budget, in sentences and by the bytes of what is in memory at the peak. */
export type BindingPart = t.TypeOf<typeof binding>
/** Lines over the steps of a run, with the unit of their values. */
export type LineChart = t.TypeOf<typeof lineChart>
/** A small picture of a crop with its classes, and those that were predicted. */
export type CropPart = t.TypeOf<typeof crop>
/** Bytes that are live from each time on, in nanoseconds from the step's start. */
export type LiveBytes = t.TypeOf<typeof liveBytes>

/** A report in which nothing is drawn yet. */
export const emptyReport = (title: string, subtitle: string): Report => ({
  title,
  subtitle,
  facts: [],
  binding: null,
  budgets: [],
  step: null,
  recommended: null,
  network: null,
  comparison: null,
  charts: [],
  crops: [],
  classes: []
})
