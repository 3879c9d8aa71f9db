/** The program that `npm start` runs. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { inSystems } from '../../in-systems'
import { root, runScript } from '../command-line'

const tsNode = join(root, 'node_modules', 'ts-node', 'dist', 'bin.js')
/** As `npm start` loads it in the long tests, else as tests are loaded, which compiles less. */
const loader = inSystems ? [tsNode] : ['-r', join(root, 'test', 'transpile.js')]

test('npm start plans and trains, and ends at a Ctrl-C', async () => {
  const { status, stdout, stderr } = await runScript([...loader, join(root, 'examples', 'train.ts')], (child) =>
    child.stdout?.once('data', () => child.kill('SIGINT'))
  )
  assert.match(stderr, /interrupted after \d+ of 14 steps/)
  assert.match(stdout, /^vgg16, input 2x3x512x512/)
  assert.is(status, 130)
})

test.run()
