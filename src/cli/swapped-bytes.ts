import { readFileSync } from 'node:fs'

/**
 * Bytes of this process that the machine has swapped out to disk; 0 where the system, unlike Linux,
 * does not say.
 */
export const swappedBytes = (): number => {
  try {
    const [, kibibytes] = /^VmSwap:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return 1024 * Number(kibibytes ?? 0)
  } catch {
    return 0
  }
}
