import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lifetime } from '../../staging'

/** The capacity of MiniMalloc's instances, which is their files' second name. */
export const capacity = 1048576

/** A public placement instance, by its name in `instances/` without `.csv`. */
export const instance = (name: string): readonly Lifetime[] => {
  const [, ...rows] = readFileSync(join(__dirname, 'instances', `${name}.csv`), 'utf8')
    .trim()
    .split('\n')
  return rows.map((row) => {
    const [, from, to, bytes] = row.split(',').map(Number) as [number, number, number, number]
    return { from, to, bytes }
  })
}
