/**
 * What can go wrong while states are written: the exit that was promised, a sentence that says what
 * is left, and that it is whole.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, constants, cpSync, existsSync, openSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readState } from '../../../src/training/state/state'
import { type Ended, runScript, tilefold as realCommand, overriding } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const { script, model } = compiledCommand()

const training = (state: string, ...more: readonly string[]): readonly string[] =>
  overriding(
    [
      ...[script, 'train', model, '--data', at('images'), '--seed', '4', '--lr', '0.05', '--threads', '1', '--json'],
      ...['--state', state, '--state-every', '1', '--resume']
    ],
    more
  )

/** Runs a shell's line in which "$@" is node with the arguments. */
const shell = (line: string, args: readonly string[]): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', line, 'bash', process.execPath, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, stdout, stderr }))
  })

/** A failure's sentence, the same on standard error and in JSON. */
const sentenceOf = ({ status, stdout, stderr }: Ended, expectedStatus: number, code: string): string => {
  assert.is(status, expectedStatus, stderr)
  const { error } = JSON.parse(stdout)
  assert.is(error.code, code)
  assert.is(stderr.trimEnd().split('\n').at(-1), error.message)
  return error.message
}

const states = (name: string): readonly string[] => readdirSync(at(name)).sort()

/** A folder with the states after steps 2 and 3. */
const begun = (name: string): string => {
  cpSync(at('three'), at(name), { recursive: true })
  return at(name)
}

const checkIntact = async (name: string): Promise<void> => {
  assert.equal(states(name), ['step-2.safetensors', 'step-3.safetensors'])
  for (const file of states(name)) assert.equal(readFileSync(at(`${name}/${file}`)), readFileSync(at(`three/${file}`)))
  const { record } = await valueOf(readState(at(`${name}/step-3.safetensors`)))
  assert.is(record.loss.length, 3)
}

test.before(async () => {
  await writeImages(at('images'))
  const { status, stderr } = await runScript(training(at('three'), '--steps', '3'))
  assert.is(status, 0, stderr)
})

test('a full disk: exit 2, and the last state is intact', async () => {
  // What is written under the state's temporary name goes to a device that is always full.
  const preload = at('full-disk.js')
  writeFileSync(
    preload,
    `const promises = require('node:fs/promises')
const { open } = promises
promises.open = (path, flags, mode) => open(/step-4\\.safetensors\\..*\\.tmp$/.test(path) && flags === 'w' ? '/dev/full' : path, flags, mode)
`
  )
  const sentence = sentenceOf(await runScript(['-r', preload, ...training(begun('full'), '--steps', '6')]), 2, 'input')
  assert.match(sentence, /step-4\.safetensors: cannot be written \(no space left on device\); .*full holds the state after step 3\.$/)
  await checkIntact('full')
})

test('a limit on the size of files: exit 2, and the last state is intact', async () => {
  const sentence = sentenceOf(await shell('ulimit -f 1; exec "$@"', training(begun('limited'), '--steps', '6')), 2, 'input')
  assert.match(sentence, /step-4\.safetensors: cannot be written \(file too large\); .*limited holds the state after step 3\.$/)
  await checkIntact('limited')
})

test('a cache on a full disk: no sample of times is measured, which is told, and the plan is made', async () => {
  const line = `unset TILEFOLD_NO_MEASURE; export XDG_CACHE_HOME=${at('full-cache')}; ulimit -f 1; exec "$@"`
  const { status, stdout, stderr } = await shell(line, [script, 'plan', model, '--threads', '1', '--json'])
  assert.is(status, 0, stderr)
  assert.match(stderr, /^.*full-cache\/tilefold: cannot be written \(file too large\): kernels are not measured here; .*\.\n$/)
  assert.is(JSON.parse(stdout).timesFrom.roofline, 1)
  assert.equal(
    readdirSync(at('full-cache/tilefold')).filter((name) => /room|json/.test(name)),
    []
  )
})

test('a place that nobody may write to: exit 2 before anything runs', async () => {
  const sentence = sentenceOf(await runScript(training('/sys/tilefold', '--steps', '6')), 2, 'input')
  assert.match(sentence, /^\/sys\/tilefold: cannot be written \(/)
})

const asRoot = process.getuid?.() === 0
const readOnlyTest = asRoot ? test.skip : test
readOnlyTest(
  'a read-only folder (skipped for root, whom no mode binds): exit 2 before anything runs, the last state is intact',
  async () => {
    chmodSync(begun('read-only'), 0o555)
    const sentence = sentenceOf(await runScript(training(at('read-only'), '--steps', '6')), 2, 'input')
    chmodSync(at('read-only'), 0o755)
    assert.match(sentence, /: cannot be written \(permission denied\)\.$/)
    await checkIntact('read-only')
  }
)

test('a file in place of the folder', async () => {
  writeFileSync(at('file'), '')
  const sentence = sentenceOf(await runScript(training(at('file'), '--steps', '6')), 2, 'input')
  assert.match(sentence, /file: cannot be written \(it is no folder\)\.$/)
})

test('a loss that is not finite: exit 4, and a state from before it grew', async () => {
  const ended = await runScript(training(begun('diverged'), '--steps', '9', '--lr', '1e30'))
  const sentence = sentenceOf(ended, 4, 'loss')
  // The update of step 4 is what makes the loss of step 5 infinite: the state after step 4 is as
  // spoilt.
  assert.match(sentence, /^the loss is .* at step 5: it diverges at a learning rate of 1e\+30; .*diverged holds the state after step 3\.$/)
  assert.equal(states('diverged'), ['step-3.safetensors'])
  const { status, stdout, stderr } = await runScript(training(at('diverged'), '--steps', '9', '--lr', '0.05'))
  assert.is(status, 0, stderr)
  assert.ok(JSON.parse(stdout).loss.every(Number.isFinite))
})

test('a loss that is not finite before any state is good: none is kept', async () => {
  const sentence = sentenceOf(await runScript(training(at('hopeless'), '--steps', '9', '--lr', '1e30')), 4, 'loss')
  assert.match(sentence, /lower --lr, or start from other weights\.$/)
  assert.equal(states('hopeless'), [])
})

test('Ctrl-C while steps run: exit 130, and training goes on where it was', async () => {
  const args = training(at('interrupted'), '--steps', '1000000', '--state-every', '1000000', '--save', at('interrupted.safetensors'))
  const ended = await runScript(args, (child) =>
    child.stderr?.on('data', (text: string) => /^step 1\//m.test(text) && setTimeout(() => child.kill('SIGINT'), 300))
  )
  const sentence = sentenceOf(ended, 130, 'interrupted')
  const pattern =
    /^interrupted after (\d+) of 1000000 steps; .*interrupted\.safetensors holds the weights after step (\d+); .*interrupted holds the state after step (\d+)\.$/
  const [, done, saved, kept] = pattern.exec(sentence) ?? []
  assert.ok(Number(kept) >= 1 && kept === saved && Number(kept) <= Number(done), sentence)
  assert.equal(states('interrupted'), [`step-${kept}.safetensors`])
  const steps = `${Number(kept) + 5}`
  const resumed = await runScript(training(at('interrupted'), '--steps', steps, '--save', at('resumed')))
  const whole = await runScript(training(at('whole'), '--state-every', '1000', '--steps', steps, '--save', at('whole.safetensors')))
  assert.is(resumed.status, 0, resumed.stderr)
  assert.equal(JSON.parse(resumed.stdout).loss, JSON.parse(whole.stdout).loss)
  assert.equal(readFileSync(at('resumed')), readFileSync(at('whole.safetensors')))
})

test('what ends a process from outside saves what was learnt, as Ctrl-C does, and leaves no lock', async () => {
  for (const sent of ['SIGTERM', 'SIGHUP'] as const) {
    const saved = at(`${sent}.safetensors`)
    const args = training(at(sent), '--steps', '1000000', '--state-every', '1000000', '--save', saved)
    const ended = await runScript(args, (child) =>
      child.stderr?.on('data', (text: string) => /^step 1\//m.test(text) && setTimeout(() => child.kill(sent), 300))
    )
    assert.match(sentenceOf(ended, 130, 'interrupted'), /^interrupted after \d+ of 1000000 steps; .* holds the weights after step \d+; /)
    assert.is(states(sent).length, 1)
    assert.ok(existsSync(saved))
    assert.equal(
      readdirSync(folder).filter((name) => name.includes(sent) && name.includes('.lock')),
      []
    )
  }
})

/** Sends a Ctrl-C so many milliseconds after the start; later where node itself was not yet up. */
const interruptedAt = async (milliseconds: number, args: readonly string[], run: typeof realCommand): Promise<Ended> => {
  const ended = await run(args, (child) => setTimeout(() => child.kill('SIGINT'), milliseconds))
  return ended.status === null ? interruptedAt(2 * milliseconds, args, run) : ended
}

for (const [moments, args] of [
  [
    [100, 400],
    ['plan', 'vgg16', '--input', '1x3x512x512', '--budget', '30%']
  ],
  [
    [100, 400],
    ['bench', 'vgg16', '--input', '1x3x512x512', '--steps', '1000']
  ],
  [
    [100, 400],
    ['train', 'vgg16', '--data', at('images'), '--crop', '512x512', '--steps', '1000']
  ],
  [
    [100, 400],
    ['compare', 'vgg16', '--input', '1x3x512x512', '--budgets', '70%,80%,100%', '--strategies', 'plain,vdnn,greedy']
  ],
  [[100], ['gradients', 'vgg16', '--weights', at('none'), '--batch', at('none'), '--out', at('none')]]
] as const) {
  test(`Ctrl-C in the first second of ${args[0]}: exit 130`, async () => {
    for (const milliseconds of moments) {
      const ended = await interruptedAt(milliseconds, [...args, '--json'], realCommand)
      assert.match(sentenceOf(ended, 130, 'interrupted'), /^interrupted/)
    }
    assert.ok(!existsSync(at('none')))
  })
}

/**
 * Sends a Ctrl-C once `isTime`, and answers with how long the process took from then on, and how it
 * ended.
 */
const interruptedWhen = async (
  args: readonly string[],
  whenTime: (child: ChildProcess, interrupt: () => void) => void
): Promise<{ readonly ended: Ended; readonly milliseconds: number }> => {
  let at = 0
  const ended = await runScript(args, (child) =>
    whenTime(child, () => {
      at = performance.now()
      child.kill('SIGINT')
    })
  )
  return { ended, milliseconds: performance.now() - at }
}

/**
 * A Ctrl-C is answered within a second; the rest is for a machine that is busy with other tests.
 */
const mostMilliseconds = 3000

test('Ctrl-C while a plan is made that takes long: exit 130 within a second', async () => {
  const args = [script, 'plan', 'resnet152', '--input', '1x3x8192x8192', '--budget', '12%', '--host-budget', '64GiB', '--json']
  const { ended, milliseconds } = await interruptedWhen(args, (_, interrupt) => setTimeout(interrupt, 3000))
  assert.is(sentenceOf(ended, 130, 'interrupted'), 'interrupted.')
  assert.ok(milliseconds < mostMilliseconds, `${milliseconds}`)
})

test('Ctrl-C while a file does not answer: exit 130 within a second', async () => {
  execFileSync('mkfifo', [at('silent.json')])
  const args = [script, 'plan', 'vgg11', '--input', '1x3x64x64', '--plan', at('silent.json'), '--json']
  const { ended, milliseconds } = await interruptedWhen(args, (_, interrupt) => {
    const isRead = setInterval(() => {
      try {
        openSync(at('silent.json'), constants.O_WRONLY | constants.O_NONBLOCK)
      } catch {
        return // Nobody reads it yet.
      }
      clearInterval(isRead)
      interrupt()
    }, 50)
  })
  assert.is(sentenceOf(ended, 130, 'interrupted'), 'interrupted.')
  assert.ok(milliseconds < mostMilliseconds, `${milliseconds}`)
})

test('Ctrl-C while training waits for an image that does not answer: the last step is saved', async () => {
  await writeImages(at('many'), 300)
  // A disk that does not answer any more, as far as the decoder can tell.
  writeFileSync(
    at('silent.js'),
    `const { existsSync } = require('node:fs')
const Module = require('node:module')
const load = Module._load
const never = () => new Promise(() => setInterval(() => undefined, 1000))
Module._load = (name, ...rest) => {
  const sharp = load(name, ...rest)
  if (name !== 'sharp') return sharp
  const decoder = (...args) => Object.assign(sharp(...args), existsSync(${JSON.stringify(at('silence'))}) && { metadata: never, toBuffer: never })
  return Object.assign(decoder, sharp)
}
`
  )
  // Each image is drawn once, so that most are still to be read after the first step.
  const trained = ['train', model, '--data', at('many'), '--epochs', '1', '--save', at('waiting.safetensors'), '--json']
  const { ended } = await interruptedWhen(['-r', at('silent.js'), script, ...trained], (child, interrupt) => {
    const begin = (text: string): void => {
      if (!/^step 1\//m.test(text)) return
      child.stderr?.off('data', begin)
      writeFileSync(at('silence'), '')
      setTimeout(interrupt, 1000)
    }
    child.stderr?.on('data', begin)
  })
  assert.match(
    sentenceOf(ended, 130, 'interrupted'),
    /^interrupted after \d+ of \d+ steps; .*waiting\.safetensors holds the weights after step \d+\.$/
  )
  assert.ok(existsSync(at('waiting.safetensors')))
})

test('threads that the system does not let the process make: one sentence', async () => {
  const line = 'ulimit -v 4000000; exec "$@"'
  const ended = await shell(line, [script, 'bench', model, '--steps', '1', '--threads', '1000', '--json'])
  assert.match(sentenceOf(ended, 2, 'input'), /^the system lets this process make \d+ threads more, fewer than the 1000 asked for/)
})

test('memory that a ulimit does not leave: one sentence', async () => {
  const line = 'ulimit -v 4000000; exec "$@"'
  const ended = await shell(line, [
    script,
    'bench',
    model,
    '--input',
    '2x3x4600x4600',
    '--strategy',
    'plain',
    '--steps',
    '1',
    '--threads',
    '1',
    '--json'
  ])
  assert.match(
    sentenceOf(ended, 2, 'input'),
    /bytes of memory that are left by the limit of addresses \(ulimit -v\): give a budget, or a smaller one\.$/
  )
})

test.run()
