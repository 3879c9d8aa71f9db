/** Images that a session reads before the run that is given them. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Image, Session } from '../../native'
import type { Kernel } from '../../staging/kernels/kernels'
import { onFastDevices } from '../devices'
import { must } from '../must'
import { type Written, index, launch, open, parameters, stepIo } from './program'

const [rows, width] = [40, 9]
const elements = rows * width

const image = (seed: number): Image & { readonly pixels: Uint8Array } => ({
  pixels: Uint8Array.from({ length: elements }, (_, position) => position * 37 + seed),
  ...{ height: rows, width, channels: 1, cropTop: 0, cropLeft: 0, flipHorizontal: false, flipVertical: false, quarterTurns: 0 }
})

const whole: Kernel = {
  ...{ kind: 'loadImage', batch: 1, channels: 1, height: rows, width, layout: 0, fullHeight: rows, fullWidth: width },
  normalisation: [0, 1 / 255]
}
const written: Written = {
  kernels: [whole],
  code: [launch(0, stepIo(0), index(0), index(0), index(0))],
  ...{ stepIoBytes: 4 * elements, precision: 'float32', input: [1, 1, rows, width] }
}

const read = async (session: Session, given: Image): Promise<readonly number[]> => {
  const values = new Float32Array(elements)
  must(await session.run('step', values.buffer, parameters, [given])())
  return [...values].map(Math.round)
}

onFastDevices(test, 'a run reads the images that it is given, whatever was prepared before', async (device) => {
  const session = must(open(written, device))
  const [first, second] = [image(1), image(2)]
  must(await session.prepare([first])())
  assert.equal(await read(session, first), [...first.pixels])
  must(await session.prepare([second])())
  assert.equal(await read(session, first), [...first.pixels])
  assert.equal(await read(session, second), [...second.pixels])
  void session.prepare([first])()
  must(await session.prepare([second])())
  assert.equal(await read(session, second), [...second.pixels])
  const reading = read(session, first)
  must(await session.prepare([second])())
  assert.equal(await reading, [...first.pixels])
  assert.equal(await read(session, second), [...second.pixels])
  session.close()
})

onFastDevices(test, 'what a GPU was to prepare it has read, once', async (device) => {
  const session = must(open(written, device))
  const given = image(1)
  const before = [...given.pixels]
  must(await session.prepare([given])())
  given.pixels.fill(7)
  // An update between two steps.
  must(await session.run('save', new ArrayBuffer(0), parameters, [])())
  assert.equal(await read(session, given), device === 'cuda' ? before : before.map(() => 7))
  assert.equal(
    await read(session, given),
    before.map(() => 7)
  )
  session.close()
})

onFastDevices(test, 'images that do not fit the program are refused, and a run goes on without', async (device) => {
  const session = must(open(written, device))
  const refused = await session.prepare([{ ...image(1), cropTop: 1 }])()
  assert.match('left' in refused ? refused.left.message : '', /does not hold a crop of 40x9 at row 1/)
  assert.equal(await read(session, image(3)), [...image(3).pixels])
  session.close()
})

test.run()
