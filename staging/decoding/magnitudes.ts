import * as t from 'io-ts'

/**
 * A number above `least`, in words, and within what a device can be: rates and times beyond make
 * sums of them infinite.
 */
const within = (expected: string, accepts: (value: number) => boolean, [least, most]: readonly [number, number]): t.Type<number> => {
  const validate: t.Validate<unknown, number> = (value, context) => {
    if (typeof value !== 'number' || !Number.isFinite(value) || !accepts(value)) return t.failure(value, context)
    return value >= least && value <= most
      ? t.success(value)
      : t.failure(value, context, `${value} is out of range: no device has less than ${least} or more than ${most}`)
  }
  return new t.Type<number>(expected, (value): value is number => validate(value, [])._tag === 'Right', validate, t.identity)
}

/** A codec of rates: operations or bytes a second. */
export const rate = within('a number above 0', (value) => value > 0, [1, 1e24])

/** A codec of times above 0, in milliseconds. */
export const milliseconds = within('a number above 0', (value) => value > 0, [1e-9, 1e12])

/** A codec of times from 0 upwards, in seconds. */
export const seconds = within('a number of seconds from 0 upwards', (value) => value >= 0, [0, 1e9])
