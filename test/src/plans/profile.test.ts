import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { bench, plan } from '../../../src'
import { root, tilefold } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const cache = temporaryFolder()
process.env.XDG_CACHE_HOME = cache
const { run: runBeside, runInTurn: run, smallModel, tinyModel } = compiledCommand()
const setup = [smallModel, '--threads', '2', '--strategy', 'plain', '--json']
/** The first profile that was measured, which others begin with. */
const first = join(temporaryFolder(), 'first.json')
const cached = (): string => join(cache, 'tilefold', readdirSync(join(cache, 'tilefold'))[0]!)

test('a plan says that its times are a rough model, until the kernels are measured', async () => {
  const before = await run(['plan', ...setup])
  assert.is(before.status, 0, before.stderr)
  assert.is(JSON.parse(before.stdout).timesFrom.roofline, 1)

  const measured = await run(['profile', ...setup])
  assert.is(measured.status, 0, measured.stderr)
  const { kernels, linkBytesPerSecond, device, measured: count, path } = JSON.parse(measured.stdout)
  assert.is(device, 'cpu')
  assert.ok(linkBytesPerSecond.toDevice > 1e7 && linkBytesPerSecond.toHost > 1e7)
  assert.ok(count > 10 && kernels.length === count)
  assert.ok(kernels.every(({ milliseconds }: { readonly milliseconds: number }) => milliseconds > 0))
  assert.is(path, cached())
  assert.is(JSON.parse(measured.stdout).isComplete, true)
  copyFileSync(path, first)
  assert.is(JSON.parse(readFileSync(path, 'utf8')).kernels.length, count)

  const after = await run(['plan', ...setup])
  const { timesFrom, predictedStepMs } = JSON.parse(after.stdout)
  assert.ok(timesFrom.measured > 0.9999, JSON.stringify(timesFrom))
  assert.is.not(predictedStepMs, JSON.parse(before.stdout).predictedStepMs)

  const again = JSON.parse((await run(['profile', ...setup])).stdout)
  assert.is(again.measured, 0, 'what is known is measured again')
  assert.is.not(again.linkBytesPerSecond.toHost, linkBytesPerSecond.toHost)
  assert.equal(JSON.parse(readFileSync(path, 'utf8')).linkBytesPerSecond, again.linkBytesPerSecond)
})

test('a profile is of its number of threads', async () => {
  const other = setup.map((one) => (one === '2' ? '1' : one))
  assert.is(JSON.parse((await run(['plan', ...other])).stdout).timesFrom.roofline, 1)
})

test('a budget has its tiles measured, and those of sizes near them', async () => {
  const within = ['--budget', '60%', '--input', '1x3x96x80']
  const tiled = setup.flatMap((one) => (one === 'plain' ? ['sft', ...within] : [one]))
  const measured = await run(['profile', ...tiled])
  assert.is(measured.status, 0, measured.stderr)
  const { kernels } = JSON.parse(measured.stdout)
  assert.ok(
    kernels.some(({ kernel }: { readonly kernel: { readonly kind: string } }) => kernel.kind === 'copyBox'),
    'no tile was measured'
  )
  const { timesFrom, segments } = JSON.parse((await run(['plan', ...tiled])).stdout)
  assert.ok(segments.some(({ grid }: { readonly grid: { readonly H: number; readonly W: number } }) => grid.H * grid.W > 1))
  assert.ok(timesFrom.measured + timesFrom.interpolated > 0.9999, JSON.stringify(timesFrom))
})

test("a profile's file is a device: it plans as the cpu that it was measured on, without being in the cache", async () => {
  const [profiled, emptyCache] = [join(temporaryFolder(), 'profile.json') as `${string}.json`, temporaryFolder()]
  const file = JSON.parse(readFileSync(cached(), 'utf8'))
  writeFileSync(profiled, JSON.stringify(file))
  const [ofCache, ofFile] = [`${profiled}.cache.json`, `${profiled}.file.json`]
  const options = { model: small, input: [1, 3, 96, 80], budget: '60%' }
  const here = await valueOf(plan({ ...options, threads: 2, out: ofCache }))
  assert.ok(here.timesFrom.measured + here.timesFrom.interpolated > 0.9999)
  process.env.XDG_CACHE_HOME = emptyCache
  try {
    const there = await valueOf(plan({ ...options, device: profiled, out: ofFile }))
    assert.is(there.predictedStepMs, here.predictedStepMs)
    assert.equal(there.timesFrom, here.timesFrom)
    assert.is(readFileSync(ofFile, 'utf8'), readFileSync(ofCache, 'utf8'))

    assert.match(
      (await failureOf(bench({ ...options, device: profiled }))).message,
      /^--device: cpu \(.+\) is known from a file and can only be planned for; /
    )
    assert.match(
      (await failureOf(plan({ ...options, device: profiled, threads: 1 }))).message,
      /^--threads 1: the cpu of this file was measured with 2; /
    )
    writeFileSync(profiled, JSON.stringify({ ...file, library: 'oneDNN 1.0 avx2' }))
    const { status, stderr } = await run(['plan', smallModel, '--device', profiled])
    assert.is(status, 0, stderr)
    assert.is(stderr, `cpu (oneDNN 1.0 avx2) gave the times alone: layouts and scratch are those of ${file.library} on this machine.\n`)
  } finally {
    process.env.XDG_CACHE_HOME = cache
  }
})

test('--measure measures the kernels of the plan first, those that are missing, and says so', async () => {
  const wide = [...setup, '--input', '2x3x48x64']
  const before = JSON.parse((await run(['plan', ...wide])).stdout)
  assert.ok(before.timesFrom.measured < 0.9999, JSON.stringify(before.timesFrom))
  const known = JSON.parse(readFileSync(cached(), 'utf8')).kernels.length

  const { status, stdout, stderr } = await run(['plan', ...wide, '--measure'])
  assert.is(status, 0, stderr)
  assert.match(stderr, /^(\d+)\/\1 kernels, \w+$/m)
  assert.ok(JSON.parse(stdout).timesFrom.measured > 0.9999, stdout)
  assert.ok(JSON.parse(readFileSync(cached(), 'utf8')).kernels.length > known)

  const again = await run(['explain', ...wide, '--measure'])
  assert.is(again.status, 0, again.stderr)
  assert.is(again.stderr, '', 'what is known is measured again')
})

test('the library measures where it is asked to, and only there', async () => {
  const known = (): number => JSON.parse(readFileSync(cached(), 'utf8')).kernels.length
  // A plan that times do not change.
  const common = { model: small, threads: 2, input: [1, 3, 40, 40], steps: 1, strategy: 'plain', exactKernels: true } as const
  const before = known()
  const benched = await valueOf(bench(common))
  assert.is(known(), before, 'measured without being asked')
  const measured = await valueOf(bench({ ...common, measure: true }))
  assert.ok(known() > before)
  assert.is(measured.predictedPeakBytes, benched.predictedPeakBytes)
})

test('an interrupted measurement keeps what it has measured', async () => {
  const controller = new AbortController()
  const known = (): number => JSON.parse(readFileSync(cached(), 'utf8')).kernels.length
  const before = known()
  const failure = await failureOf(
    plan({
      model: small,
      threads: 2,
      input: [1, 3, 72, 72],
      measure: true,
      onKernel: () => controller.abort(),
      signal: controller.signal
    })
  )
  assert.is(failure.code, 'interrupted')
  assert.match(failure.message, /^interrupted after \d of \d+ kernels, whose times are kept$/)
  assert.is(known(), before + 1)
})

/** Runs the command as it is outside of tests: it may measure a sample. */
const runMeasuring: typeof run = async (args) => {
  const { TILEFOLD_NO_MEASURE } = process.env
  delete process.env.TILEFOLD_NO_MEASURE
  try {
    return await run(args)
  } finally {
    process.env.TILEFOLD_NO_MEASURE = TILEFOLD_NO_MEASURE ?? '1'
  }
}

test('the first plan on a machine measures a sample, says so, and the second does not', async () => {
  process.env.XDG_CACHE_HOME = temporaryFolder()
  const folder = join(process.env.XDG_CACHE_HOME, 'tilefold')
  const profiles = (): readonly string[] => (existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith('cpu-')) : [])
  try {
    const refused = await runMeasuring(['plan', ...setup, '--no-measure'])
    assert.is(refused.stderr, '')
    assert.equal(profiles(), [], 'measured, though that was refused')
    await runMeasuring(['plan', smallModel, '--device', 'reference'])
    await runMeasuring(['plan', smallModel, '--device', join(root, 'devices', 'v100-16gb.json')])
    await valueOf(plan({ model: small, threads: 2 }))
    assert.equal(profiles(), [], 'measured for another device, or by the library')

    const first = await runMeasuring(['plan', ...setup])
    assert.is(first.status, 0, first.stderr)
    assert.match(first.stderr, /^measuring this network's kernels on this machine, once, for at most 15 s \(--no-measure leaves it out\)\n/)
    assert.ok(JSON.parse(first.stdout).timesFrom.roofline < 0.2, first.stdout)
    assert.is(profiles().length, 1)

    const second = await runMeasuring(['plan', ...setup])
    assert.is(second.stderr, '')
    assert.is(JSON.parse(second.stdout).predictedStepMs, JSON.parse(first.stdout).predictedStepMs)
  } finally {
    process.env.XDG_CACHE_HOME = cache
  }
})

test('where times cannot be kept no sample is measured, which is told, and the plan is made', async () => {
  const unkept = 'kernels are not measured here; set XDG_CACHE_HOME to a folder that keeps their times, or give --no-measure.\n'
  process.env.XDG_CACHE_HOME = '/dev/null'
  try {
    const { status, stderr, stdout } = await runMeasuring(['plan', ...setup])
    assert.is(status, 0, stderr)
    assert.match(stderr, new RegExp(`^/dev/null/tilefold: cannot be written \\(.*\\): ${unkept}$`))
    assert.is(JSON.parse(stdout).timesFrom.roofline, 1)
    const asked = await runMeasuring(['plan', ...setup, '--measure'])
    assert.match(`${asked.stdout}${asked.stderr}`, /cannot be made .*; set XDG_CACHE_HOME to a folder that can be written/)

    process.env.XDG_CACHE_HOME = join(cache, 'taken')
    mkdirSync(join(process.env.XDG_CACHE_HOME, 'tilefold', basename(cached())), { recursive: true })
    const taken = await runMeasuring(['plan', ...setup])
    assert.is(taken.status, 0, taken.stderr)
    assert.match(taken.stderr, new RegExp(`: cannot be written \\(it is a folder\\): ${unkept}$`))
  } finally {
    process.env.XDG_CACHE_HOME = cache
  }
})

test('a comparison measures a sample as a plan does, once for both', async () => {
  process.env.XDG_CACHE_HOME = temporaryFolder()
  try {
    const compared = await runMeasuring(['compare', tinyModel, '--threads', '2', '--json', '--budgets', '100%', '--strategies', 'plain'])
    assert.match(compared.stderr, /^measuring this network's kernels on this machine, once, for at most 15 s /)
    const planned = await runMeasuring(['plan', tinyModel, ...setup.slice(1)])
    assert.is(planned.stderr, '')
    assert.is(JSON.parse(compared.stdout).rows[0].predictedStepMs, JSON.parse(planned.stdout).predictedStepMs)
  } finally {
    process.env.XDG_CACHE_HOME = cache
  }
})

test('steps that a profile does not predict are told, and --again measures anew', async () => {
  const name = basename(cached())
  process.env.XDG_CACHE_HOME = temporaryFolder()
  try {
    const known = JSON.parse(readFileSync(first, 'utf8'))
    const slower = known.kernels.map((one: { readonly milliseconds: number }) => ({ ...one, milliseconds: 1000 * one.milliseconds }))
    mkdirSync(join(process.env.XDG_CACHE_HOME, 'tilefold'))
    writeFileSync(join(process.env.XDG_CACHE_HOME, 'tilefold', name), JSON.stringify({ ...known, kernels: slower }))
    const { status, stderr } = await run(['bench', ...setup])
    assert.is(status, 0, stderr)
    assert.match(
      stderr,
      /^steps take .+ where this machine's profile predicts .+: the machine is faster than when it was measured; tilefold profile --again/m
    )

    const again = JSON.parse((await run(['profile', ...setup, '--again'])).stdout)
    assert.is(again.measured, known.kernels.length)
    const { predictedStepMs } = JSON.parse((await run(['plan', ...setup])).stdout)
    assert.ok(predictedStepMs < 1000, `${predictedStepMs} ms are by times that should be forgotten`)
  } finally {
    process.env.XDG_CACHE_HOME = cache
  }
})

/** What a profile says with another addon in place of the built one. */
const profileWith = async (addon: string) => {
  process.env.TILEFOLD_ADDON = addon
  try {
    return await run(['profile', ...setup, '--input', '1x3x80x80'])
  } finally {
    delete process.env.TILEFOLD_ADDON
  }
}

test('a machine without the memory to measure is no fault of the device', async () => {
  const addon = join(cache, 'addon.js')
  writeFileSync(
    addon,
    `const real = require(${JSON.stringify(join(root, 'native', 'build', 'Release', 'tilefold.node'))})
const milliseconds = () => ({ error: { code: 'memory', message: 'there is no memory' } })
module.exports = { ...real, openDevice: (choice) => ({ value: { ...real.openDevice(choice).value, milliseconds } }) }
`
  )
  const { status, stderr } = await profileWith(addon)
  assert.is(stderr, 'there is no memory.\n')
  assert.is(status, 2)
})

test('an addon that the environment names and that is not there is named', async () => {
  const { status, stderr } = await profileWith('/nowhere')
  assert.is(stderr, 'the native addon /nowhere, which TILEFOLD_ADDON names, is not built: name another build, or unset the variable.\n')
  assert.is(status, 2)
})

test('processes that measure at the same time keep all of their times', async () => {
  const profile = async (model: string) => {
    const { status, stdout, stderr } = await runBeside(['profile', model, '--threads', '2', '--strategy', 'plain', '--json'])
    assert.is(status, 0, stderr)
    return JSON.parse(stdout) as { readonly measured: number; readonly path: string }
  }
  process.env.XDG_CACHE_HOME = temporaryFolder()
  try {
    const [ofSmall, ofTiny] = await Promise.all([profile(smallModel), profile(tinyModel)])
    assert.ok(ofSmall.measured > 10 && ofTiny.measured > 0)
    for (const model of [smallModel, tinyModel]) assert.is((await profile(model)).measured, 0, `what was measured of ${model} is lost`)
    assert.not.ok(existsSync(`${ofSmall.path}.lock`))
  } finally {
    process.env.XDG_CACHE_HOME = cache
  }
})

test('a damaged profile is told and left out, and what is measured next takes its place', async () => {
  process.env.XDG_CACHE_HOME = join(cache, 'damaged-profile')
  try {
    const whole = readFileSync(first, 'utf8')
    const path = join(process.env.XDG_CACHE_HOME, 'tilefold', basename(cached()))
    mkdirSync(dirname(path), { recursive: true })
    const without = 'its times are left out, and what is measured next takes its place.\n'
    for (const [text, fault] of [
      [whole.slice(0, whole.length / 2), 'cannot be read as JSON \\(.*\\)'],
      ['{"device":"cpu"}', 'is not a profile'],
      [whole.replace(/"toDevice":/, '"toDevice":-'), 'is not a profile'],
      [whole.replace(/"library":"[^"]*"/, '"library":"x"'), 'is of x with 2 threads']
    ] as const) {
      writeFileSync(path, text)
      const { status, stdout, stderr } = await run(['plan', ...setup])
      assert.is(status, 0, stderr)
      assert.match(stderr, new RegExp(`^${path}: ${fault}; ${without}$`))
      assert.is(JSON.parse(stdout).timesFrom.roofline, 1)
    }
    const measured = await runMeasuring(['plan', ...setup])
    assert.match(measured.stderr, new RegExp(`^${path}: .*${without}measuring this network's kernels`))
    assert.is((await runMeasuring(['plan', ...setup])).stderr, '')
    writeFileSync(path, '{')
    assert.match((await run(['profile', tinyModel, ...setup.slice(1)])).stderr, new RegExp(`^${path}: .*${without}`))
    assert.ok(JSON.parse(readFileSync(path, 'utf8')).kernels.length > 0)
  } finally {
    process.env.XDG_CACHE_HOME = cache
  }
})

test('a kernel of more taps than there can be is passed over, not gone through tap by tap', async () => {
  const file = JSON.parse(readFileSync(first, 'utf8'))
  const damaged = file.kernels.find(({ kernel }: { readonly kernel: { readonly kind: string } }) => kernel.kind === 'convolutionForward')
  damaged.kernel.kernelHeight = 2 ** 53
  const path = join(temporaryFolder(), 'taps.json')
  writeFileSync(path, JSON.stringify(file))
  const { status, stdout, stderr } = await run(['plan', ...setup, '--device', path])
  assert.is(status, 0, stderr)
  assert.ok(JSON.parse(stdout).timesFrom.measured < 1)
})

test('the reference device has no profile', async () => {
  const { status, stderr } = await tilefold(['profile', smallModel, '--device', 'reference'])
  assert.is(status, 2)
  assert.match(stderr, /^only the cpu and the cuda device are worth a profile/)
  assert.match((await tilefold(['plan', smallModel, '--device', 'reference', '--measure'])).stderr, /^only the cpu and the cuda device/)
})

test.run()
