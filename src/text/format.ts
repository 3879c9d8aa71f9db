/** Three significant digits, but for whole numbers of more. */
export const threeDigits = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

/** Writes bytes for people: three significant digits in binary units. */
export const formatBytes = (bytes: number): string => {
  const [unit, scale] =
    bytes >= 2 ** 30 ? ['GiB', 2 ** 30] : bytes >= 2 ** 20 ? ['MiB', 2 ** 20] : bytes >= 2 ** 10 ? ['KiB', 2 ** 10] : ['B', 1]
  const value = bytes / (scale as number)
  return `${scale === 1 ? value.toFixed(0) : threeDigits(value)} ${unit}`
}

/**
 * Writes milliseconds for people: as milliseconds, seconds or minutes, three significant digits.
 */
export const formatMilliseconds = (milliseconds: number): string => {
  const [unit, scale] = milliseconds >= 120e3 ? ['min', 60e3] : milliseconds >= 1e3 ? ['s', 1e3] : ['ms', 1]
  const value = milliseconds / (scale as number)
  return `${threeDigits(value)} ${unit}`
}

/** Writes seconds that something still takes for people: whole ones, and hours from two on. */
export const formatRemaining = (seconds: number): string =>
  seconds >= 7200 ? `${(seconds / 3600).toFixed(1)} h` : formatMilliseconds(1000 * Math.max(1, Math.round(seconds)))

/** A share as people read it: 12.3%. */
export const percent = (fraction: number): string => `${(100 * fraction).toFixed(1)}%`
