// Staged Programs of a small net, damaged at random: each is refused with a sentence or runs inside
// its memory, and nothing hangs.
import * as E from 'fp-ts/Either'
import * as assert from 'uvu/assert'
import { test } from 'uvu'
import { checkpoint, conv2d, dropout, globalAvgPool, linear, maxPool2d, model, relu, tile } from '../../dsl'
import { deviceModel, type DeviceError, type Image, type SectionName } from '../../native'
import { encodeProgram } from '../../native/session/encode'
import { openEncoded, type EncodedSessionOptions } from '../../native/session/session'
import { stage, type PlanPlacement, type Program } from '../../staging'
import { must } from '../must'
import { at, parameters, record, swap, wait } from './program'

// Threads that spin while they wait take each other's cores. Before the addon is loaded, which
// reads it.
process.env['OMP_WAIT_POLICY'] = 'passive'

const mutations = 120
const largest = 1 << 24
const canary = 256

/** xorshift32: the same mutations at each run. */
const randomFrom = (seed: number): ((below: number) => number) => {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const small = model({
  name: 'small',
  input: [1, 3, 24, 20],
  layers: [
    conv2d({ out: 8, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 2 }),
    tile({ H: 3, W: 2 }),
    checkpoint,
    conv2d({ out: 16, k: 3, p: 1 }),
    relu,
    globalAvgPool,
    dropout({ rate: 0.3 }),
    linear({ out: 2 })
  ]
})

const sides = 32
const image: Image = {
  pixels: Uint8Array.from({ length: sides * sides * 3 }, (_, index) => index * 37),
  height: sides,
  width: sides,
  channels: 3,
  cropTop: 1,
  cropLeft: 2,
  flipHorizontal: true,
  flipVertical: false,
  quarterTurns: 0
}

/**
 * The staged Program, which loads its tiles ahead, with a swap of its first kilobyte before its
 * step: something to damage in copies and events too.
 */
const programFor = (name: 'reference' | 'cpu', placement?: PlanPlacement): Program => {
  const device = must(deviceModel(name, 'float32', 2))
  const staged = must(
    E.mapLeft(({ message }: { readonly message: string }): DeviceError => ({ code: 'device', message }))(
      stage({
        model: small,
        // Beside a slow link tiles are loaded ahead.
        device: { ...device, linkBytesPerSecond: { toDevice: 1e9, toHost: 1e9 } },
        strategy: 'sft',
        objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 1e-4 } },
        source: { kind: 'image', mean: [0.5, 0.5, 0.5], deviation: [0.25, 0.25, 0.25] },
        ...(placement && { placement })
      })
    )
  ).program
  assert.ok(staged.step.code.some((one) => one.kind === 'launch' && one.engine === 'to-device'))
  assert.is(
    staged.step.code.some((one) => one.kind === 'map'),
    placement !== undefined
  )
  const swaps = [
    swap('to-host', 1024, at(0), at(64)),
    record('to-host', 1),
    wait('to-device', 1),
    swap('to-device', 1024, at(0), at(64)),
    record('to-device', 2),
    wait('compute', 2)
  ]
  return { ...staged, hostBytes: 1088, step: { ...staged.step, code: [...swaps, ...staged.step.code] } }
}

const oddNumbers = [0, 1, -1, 2, 3, 4, 5, 6, 8, 64, 0.5, 1e6, 2 ** 31, 2 ** 52, 2 ** 53, 2 ** 62, 1e300, Infinity, NaN]

const damaged = (options: EncodedSessionOptions, random: (below: number) => number): EncodedSessionOptions => {
  const number = (value: number): number =>
    [() => oddNumbers[random(oddNumbers.length)]!, () => value + random(5) - 2, () => value * 2, () => value + 64 * (random(64) - 32)][
      random(4)
    ]!()
  const numbers = (values: Float64Array): Float64Array => {
    const position = random(values.length)
    return random(4) === 0
      ? Float64Array.from([...values.slice(0, position), ...values.slice(position + 1)])
      : values.map((value, index) => (index === position ? number(value) : value))
  }
  const chosen = random(options.sections.length)
  const section = (change: (one: EncodedSessionOptions['sections'][number]) => Partial<EncodedSessionOptions['sections'][number]>) => ({
    ...options,
    sections: options.sections.map((one, index) => (index === chosen ? { ...one, ...change(one) } : one))
  })
  const figure = (['peakBytes', 'pageBytes', 'addressBytes', 'residentBytes'] as const)[random(4)]!
  switch (random(8)) {
    case 0:
      return { ...options, [figure]: number(options[figure]) }
    case 1:
      return { ...options, hostBytes: number(options.hostBytes) }
    case 2:
      return section(({ stepIoBytes }) => ({ stepIoBytes: number(stepIoBytes) }))
    case 3:
      return random(2) === 0 ? { ...options, input: numbers(options.input) } : { ...options, workspaces: numbers(options.workspaces) }
    case 4:
    case 5:
      return { ...options, kernels: numbers(options.kernels) }
    default:
      return section(({ code }) => ({ code: code.length === 0 ? code : numbers(code) }))
  }
}

/** Runs every section for at most a moment; answers whether the decoder let the program pass. */
const survives = async (options: EncodedSessionOptions): Promise<boolean> => {
  if (options.hostBytes > largest && options.hostBytes <= 2 ** 45) return false // this machine may have the memory, but not the time
  const opened = openEncoded(options)
  if (E.isLeft(opened)) {
    assert.ok(opened.left.message.length > 0)
    return false
  }
  const session = opened.right
  for (const { name, stepIoBytes } of options.sections) {
    if (stepIoBytes > largest) continue
    const io = new ArrayBuffer(stepIoBytes + canary)
    new Uint8Array(io).fill(0xc5, stepIoBytes)
    const timer = setTimeout(session.interrupt, 200)
    // Labels, indices and images are only known at run time, so it may fail as well.
    await session.run(name as SectionName, io, parameters, [image])()
    clearTimeout(timer)
    assert.ok(
      new Uint8Array(io, stepIoBytes).every((byte) => byte === 0xc5),
      'the I/O buffer is written beyond its end'
    )
    assert.ok(session.measuredPeakBytes() <= options.peakBytes, 'the arena is written beyond the peak')
    assert.ok(session.measuredHostPeakBytes() <= options.hostBytes)
  }
  session.close()
  return true
}

const placements = [undefined, { allocator: 'virtual', pageBytes: 4096 }] as const

for (const [device, placement] of (['reference', 'cpu'] as const).flatMap((name) => placements.map((one) => [name, one] as const)))
  test(`${mutations} damaged Programs on the ${device} device, placed by ${placement?.allocator ?? 'static'}`, async () => {
    const program = programFor(device, placement)
    const sound: EncodedSessionOptions = {
      ...encodeProgram(program),
      device,
      math: 'float32',
      precision: 'float32',
      arenaBytes: program.peakBytes + 4096,
      linkBytesPerSecond: 0,
      timesKernels: false,
      traces: false
    }
    assert.ok(await survives(sound))
    const random = randomFrom(1)
    let passed = 0
    for (let index = 0; index < mutations; index++) {
      const before = process.cpuUsage()
      if (await survives(damaged(sound, random))) passed++
      const { user, system } = process.cpuUsage(before)
      assert.ok(user + system < 5e6, `mutation ${index} took ${(user + system) / 1e6} s of the processors`)
    }
    // Both kinds are there: a test that refused all, or none, would show little.
    assert.ok(passed > mutations / 20 && passed < (mutations * 19) / 20, `${passed} passed`)
  })

test.run()
