/**
 * A number with three significant digits, or all of those before the point.
 * @param {number} value
 */
const digits = (value) => (value >= 100 || value === 0 ? value.toFixed(0) : `${Number(value.toPrecision(3))}`)

/** @param {number} bytes */
const bytesText = (bytes) => {
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10))
  return `${digits(bytes / 1024 ** power)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}

/** @param {number} milliseconds */
const millisecondsText = (milliseconds) => {
  if (milliseconds >= 120e3) return `${digits(milliseconds / 60e3)} min`
  if (milliseconds >= 1e3) return `${digits(milliseconds / 1e3)} s`
  return milliseconds >= 1 || milliseconds === 0 ? `${digits(milliseconds)} ms` : `${digits(1e3 * milliseconds)} µs`
}

/** Distances between marks of an axis of bytes, each a power of two. */
const byteSteps = Array.from({ length: 50 }, (_, power) => 2 ** power)

/**
 * Marks of one axis in one unit, so that they can be compared at a glance.
 * @param {readonly number[]} bytes
 */
const byteMarks = (bytes) => {
  const most = Math.max(...bytes, 1)
  const power = most < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(most) / 10))
  return bytes.map((one) => `${Number((one / 1024 ** power).toFixed(2))} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`)
}

/** @param {readonly number[]} milliseconds */
const timeMarks = (milliseconds) => {
  const most = Math.max(...milliseconds, 0)
  const step = milliseconds.length > 1 ? /** @type {number} */ (milliseconds[1]) - /** @type {number} */ (milliseconds[0]) : 1
  const [unit, scale] = most >= 2e3 && step >= 100 ? ['s', 1e3] : ['ms', 1]
  // As many places as the step between marks has: one of 2.5 has one.
  const places = `${Number((step / Number(scale)).toPrecision(3))}`.split('.')[1]?.length ?? 0
  return milliseconds.map((one) => `${(one / Number(scale)).toFixed(places)} ${unit}`)
}
