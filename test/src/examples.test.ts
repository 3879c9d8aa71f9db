/** The program that `npm start` runs. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { root, runScript } from './command-line'

test('npm start plans and trains, and ends at a Ctrl-C', async () => {
  const tsNode = join(root, 'node_modules', 'ts-node', 'dist', 'bin.js')
  const { status, stdout, stderr } = await runScript([tsNode, join(root, 'examples', 'train.ts')], (child) =>
    child.stdout?.once('data', () => child.kill('SIGINT'))
  )
  assert.match(stderr, /interrupted after \d+ of 14 steps/)
  assert.match(stdout, /^vgg16, input 2x3x512x512/)
  assert.is(status, 130)
})

test.run()
