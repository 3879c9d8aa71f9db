import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { test } from 'uvu'
import { loadAddon } from '../../native/addon/addon'
import { addonFile } from '../../native/addon/addon-file'
import { kernelEntry } from '../../native/addon/built-tables'
import { kernelKinds } from '../../staging/kernels/kernels'
import { channelBlock, layouts, weightElements } from '../../staging/kernels/layout'
import { must } from '../must'
import { root } from '../src/command-line'
import { temporaryFolder } from '../src/temporary-folder'

const tilefold = join(root, 'src', 'tilefold.js')

test('kernels, their fields and operands are the same in both languages', () => {
  const { value } = must(loadAddon()).kernelTable() as { readonly value: unknown }
  assert.equal(value, kernelKinds.map(kernelEntry))
})

test('layouts and their blocks are the same in both languages', () => {
  const { value } = must(loadAddon()).layoutTable() as {
    readonly value: readonly {
      readonly name: string
      readonly channels: number
      readonly out: number
      readonly in: number
      readonly groups: number
      readonly positions: number
    }[]
  }
  assert.equal(
    value.map(({ name }) => name),
    [...layouts]
  )
  for (const [position, block] of value.entries()) {
    const layout = layouts[position]!
    assert.is(channelBlock(layout, 1), block.channels, layout)
    // One channel of each kind is padded up to the block.
    assert.is(weightElements(layout, [1, 1, 1, 1], 1), block.out * block.in * block.groups * Math.max(1, block.positions), layout)
  }
})

const folder = temporaryFolder()

test('an addon of other sources is named, with what to do', () => {
  const built = must(addonFile())
  for (const [changes, what] of [
    ['kernelTable: () => ({ value: built.kernelTable().value.slice(0, -1) })', `kernel ${kernelKinds.at(-1)}`],
    ['kernelTable: () => ({ value: built.kernelTable().value.slice(1) })', `kernel ${kernelKinds[0]}`],
    ["kernelTable: () => ({ value: [...built.kernelTable().value, { name: 'later' }] })", 'kernel later'],
    ['layoutTable: () => ({ value: built.layoutTable().value.slice(0, -1) })', `layout ${layouts.at(-1)}`],
    ['freePixels: undefined', 'freePixels']
  ] as const) {
    const other = join(folder, 'other.js')
    writeFileSync(other, `const built = require(${JSON.stringify(built)})\nmodule.exports = { ...built, ${changes} }\n`)
    const { status, stderr } = spawnSync(process.execPath, [tilefold, 'plan', 'vgg16', '--classes', '2', '--input', '1x3x64x64'], {
      encoding: 'utf8',
      env: { ...process.env, TILEFOLD_ADDON: other }
    })
    assert.is(
      stderr,
      `the native addon ${other} was built from other sources than these (${what} differs): build it again with "npm run build" in a clone, or "npx tilefold-build" in a project.\n`
    )
    assert.is(status, 2)
  }
})

test.run()
