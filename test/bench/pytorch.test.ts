/** How gpu-check speaks with the Python that has PyTorch, which a stand-in plays. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Pytorch, startPytorch } from '../../bench/gpu/pytorch'
import { temporaryFolder } from '../src/temporary-folder'

const folder = temporaryFolder()

/** One that does this with each line that it reads. */
const start = async (does: string): Promise<Pytorch> => {
  const python = join(folder, 'python')
  const ready = JSON.stringify({ ready: true, version: 'PyTorch 0', device: 'stand-in', memoryBytes: null })
  writeFileSync(python, `#!/bin/sh\necho "a library's greeting"\necho '${ready}'\nwhile read -r line; do ${does}; done\n`)
  chmodSync(python, 0o755)
  const started = await startPytorch(python, 'cpu')
  if (E.isLeft(started)) throw new Error(started.left.message)
  return started.right
}

const Echoed = t.type({ number: t.number })

test('what a library prints is no answer, and the next answer is the next', async () => {
  const { ask, close } = await start('echo "Warning: autotuning"; echo "$line"')
  for (const number of [1, 2, 3]) assert.equal(await ask(Echoed, { number }, 60), E.right({ number }))
  close()
})

test('one that takes too long is ended, and another has the next request', async () => {
  const { ask, close } = await start('case $line in *7*) sleep 60 ;; esac; echo "$line"')
  const late = await ask(Echoed, { number: 7 }, 1)
  assert.is(E.isLeft(late) && late.left.message, 'it was ended after 1 s')
  assert.equal(await ask(Echoed, { number: 8 }, 60), E.right({ number: 8 }))
  close()
})

test.run()
