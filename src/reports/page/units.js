/**
 * A number with three significant digits, or all of those before the point.
 * @param {number} value
 */
const digits = (value) => (value >= 100 || value === 0 ? value.toFixed(0) : `${Number(value.toPrecision(3))}`)

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** The place of the unit in which so many bytes are at least one. @param {number} bytes */
const unitOf = (bytes) => (bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10)))

/** @param {number} bytes */
const bytesText = (bytes) => `${digits(bytes / 1024 ** unitOf(bytes))} ${byteUnits[unitOf(bytes)]}`

/** @param {number} milliseconds */
const millisecondsText = (milliseconds) => {
  if (milliseconds >= 120e3) return `${digits(milliseconds / 60e3)} min`
  if (milliseconds >= 1e3) return `${digits(milliseconds / 1e3)} s`
  return milliseconds >= 1 || milliseconds === 0 ? `${digits(milliseconds)} ms` : `${digits(1e3 * milliseconds)} µs`
}

/** Distances between marks of an axis of bytes, each a power of two. */
const byteSteps = Array.from({ length: 50 }, (_, power) => 2 ** power)

/** Distances between marks of an axis of numbers, without an end: losses that diverge have none. */
const numberSteps = Array.from({ length: 340 }, (_, power) => [1, 2, 5].map((one) => Number(`${one}e${power - 32}`))).flat()

/**
 * How far the marks of an axis are apart; of a single one, how far from zero.
 * @param {readonly number[]} marks
 */
const distanceOf = ([first = 0, second = 0]) => Math.abs(second - first)

/**
 * The places after the point that tell numbers at such a distance apart: 2.5 has one, 20 has -1.
 * @param {number} distance
 */
const placesOf = (distance) => {
  const [written = '', power] = Number(distance.toPrecision(3)).toExponential().split('e')
  return (written.split('.')[1]?.length ?? 0) - Number(power)
}

/**
 * A number that others at such a distance are told apart from; with an exponent where the largest
 * of them is very large or very small.
 * @param {number} value
 * @param {number} distance
 */
const numberText = (value, distance, most = Math.abs(value)) => {
  const [size, places] = [Math.abs(value), placesOf(distance)]
  if (size < distance / 2 || size === 0) return '0'
  return most >= 1e6 || most < 1e-3
    ? value.toExponential(Math.max(0, places + Math.floor(Math.log10(size))))
    : value.toFixed(Math.max(0, places))
}

/** @param {readonly number[]} values */
const numberMarks = (values) => {
  const most = values.reduce((most, one) => Math.max(most, Math.abs(one)), 0)
  return values.map((one) => numberText(one, distanceOf(values), most))
}

/**
 * Where a logarithmic axis has its marks: at powers of ten, and between them where these are few.
 * @param {number} min
 * @param {number} max
 */
const logarithmicSplits = (min, max) => {
  const [low, high] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))]
  const each = Math.max(1, Math.ceil((high - low) / 5))
  const between = high - low > 2 ? [1] : high - low > 1 ? [1, 2, 5] : [1, 2, 3, 5, 7]
  return Array.from({ length: Math.floor((high - low) / each) + 1 }, (_, place) =>
    between.map((one) => Number(`${one}e${low + place * each}`))
  )
    .flat()
    .filter((one) => one >= min && one <= max)
}

/**
 * Marks of one axis in one unit, so that they can be compared at a glance: one of which they are at
 * least quarters apart.
 * @param {readonly number[]} bytes
 */
const byteMarks = (bytes) => {
  const distance = distanceOf(bytes)
  const unit = unitOf(Math.min(Math.max(...bytes), 4 * distance))
  const places = Math.max(0, placesOf(distance / 1024 ** unit))
  return bytes.map((one) => `${(one / 1024 ** unit).toFixed(places)} ${byteUnits[unit]}`)
}

/** @param {readonly number[]} milliseconds */
const timeMarks = (milliseconds) => {
  const most = Math.max(...milliseconds, 0)
  const step = milliseconds.length > 1 ? distanceOf(milliseconds) : 1
  const [unit, scale] = most >= 2e3 && step >= 100 ? ['s', 1e3] : ['ms', 1]
  const places = Math.max(0, placesOf(step / Number(scale)))
  return milliseconds.map((one) => `${(one / Number(scale)).toFixed(places)} ${unit}`)
}
