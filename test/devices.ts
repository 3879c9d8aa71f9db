// Which devices the suite compares with the reference device in float64.
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Test } from 'uvu'
import { meanSquaredError, model, relu } from '../dsl'
import { deviceModel, openSession, type DeviceName } from '../native'
import { stage } from '../staging'
import { memoize } from '../staging/memoize'

/** Devices of float32 that users train on. */
export const fastDevices = ['cpu', 'cuda'] as const satisfies readonly DeviceName[]

const names: readonly string[] = ['reference', ...fastDevices]

/**
 * TILEFOLD_TEST_DEVICES, such as cuda,reference: these alone, and each must be there; otherwise all
 * that are there.
 */
const asked = process.env.TILEFOLD_TEST_DEVICES?.split(',')

const unknown = asked?.find((name) => !names.includes(name))
if (unknown !== undefined) throw new Error(`TILEFOLD_TEST_DEVICES: there is no device '${unknown}', only ${names.join(', ')}`)

const smallest = model({ name: 'smallest', layers: [relu, meanSquaredError] })

/**
 * Why a device cannot run here, in the words of what refused a small program; undefined where it
 * can.
 */
const refusal = (device: DeviceName, precision: 'float32' | 'bf16'): string | undefined => {
  const opened = pipe(
    deviceModel(device, precision, 1),
    E.chainW((described) =>
      stage({
        model: smallest,
        input: [1, 1, 4, 4],
        device: described,
        strategy: 'plain',
        objective: { kind: 'gradients' },
        source: { kind: 'float' }
      })
    ),
    E.chainW(({ program }) => openSession({ device, program, arenaBytes: program.peakBytes })),
    E.map((session) => session.close())
  )
  return E.isLeft(opened) ? opened.left.message : undefined
}

/**
 * Whether the tests of a device run. Only a GPU may be absent: its tests are skipped by name, or
 * fail where it was asked for.
 */
export const testsDevice = memoize(String, (device: DeviceName): boolean => {
  if (asked !== undefined && !asked.includes(device)) return false
  const reason = device === 'cuda' ? refusal(device, 'float32') : undefined
  if (reason === undefined) return true
  if (asked !== undefined) throw new Error(`TILEFOLD_TEST_DEVICES names ${device}, which cannot run here: ${reason}`)
  console.log(`${device} is skipped: ${reason}`)
  return false
})

/** Those that compute in bf16 too, by name; a GPU may be too old for it. */
export const bf16Devices = () =>
  (['reference', 'cpu', 'cuda'] as const).filter(testsDevice).flatMap((device) => {
    const name = `${device} in bf16`
    const reason = refusal(device, 'bf16')
    if (reason !== undefined) console.log(`${name} is skipped: ${reason}`)
    return reason === undefined ? [{ name, on: { device, precision: 'bf16' } } as const] : []
  })

/** A test of each device of float32, named after it. */
export const onFastDevices = (test: Test, name: string, run: (device: (typeof fastDevices)[number]) => Promise<void>): void =>
  fastDevices.forEach((device) => {
    if (testsDevice(device)) test(`${device}: ${name}`, () => run(device))
    else test.skip(`${device}: ${name}`)
  })
