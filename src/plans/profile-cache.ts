import { createHash } from 'node:crypto'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Profile, deviceProfile as profileCodec } from '../../staging'
import type { Outcome } from '../failure'
import { cacheFolder } from '../files/cache-folder'
import { joinMeasurement, readMeasurement, unlessUnusable, unusable, writeMeasurement } from './kept-measurements'
import type { Watching } from './watching'

/**
 * Times belong to a device, its library (with all that they depend on in it) and a number of
 * threads.
 */
interface ProfileKey {
  readonly device: string
  readonly library: string
  readonly threads: number
}

/**
 * The file, in the user's cache folder, of times that were measured on a device with so many
 * threads.
 */
export const profilePath = ({ device, library, threads }: ProfileKey): string => {
  const hash = createHash('sha256').update(library).digest('hex').slice(0, 12)
  return join(cacheFolder(), `${device}-${hash}-${threads}-threads.json`)
}

const kept = {
  codec: profileCodec,
  name: 'a profile',
  without: 'its times are left out, and what is measured next takes its place'
}

/**
 * The profile that was measured before under this key; undefined where none was, and where its file
 * is damaged, which is told.
 */
export const readProfile = (key: ProfileKey, watching: Watching = {}): Profile | undefined => {
  const path = profilePath(key)
  const found = pipe(
    readMeasurement(path, kept),
    E.filterOrElse(
      (found) => found === undefined || (found.library === key.library && found.threads === key.threads),
      (found) => unusable(path, `is of ${found?.library} with ${found?.threads} threads`, kept)
    )
  )
  return unlessUnusable(found, watching)
}

/** Keeps a device's measured times of kernels, in place of what was kept of it before. */
export const writeProfile = (profile: Profile): Outcome<void> => writeMeasurement(profilePath(profile), profile)

/** Each kernel once, at the less of its times: what else uses the machine only adds to them. */
export const withEachOnce = (profile: Profile): Profile => {
  const times = new Map<string, Profile['kernels'][number]>()
  for (const one of profile.kernels) {
    const key = JSON.stringify(one.kernel)
    const before = times.get(key)
    times.set(key, before === undefined || one.milliseconds < before.milliseconds ? one : before)
  }
  return { ...profile, kernels: [...times.values()] }
}

/** Keeps a device's measured times of kernels beside those that other processes kept of it. */
export const addToProfile = (profile: Profile): Outcome<void> =>
  joinMeasurement(profilePath(profile), kept, (found) =>
    withEachOnce({ ...profile, kernels: [...(found?.kernels ?? []), ...profile.kernels] })
  )
