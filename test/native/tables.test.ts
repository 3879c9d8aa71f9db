import * as assert from 'uvu/assert'
import { test } from 'uvu'
import { loadAddon } from '../../native/addon/addon'
import { kernelKinds, rowOf } from '../../staging/kernels/kernels'
import { channelBlock, layouts, weightElements } from '../../staging/kernels/layout'
import { must } from '../must'

test('kernels, their fields and operands are the same in both languages', () => {
  const { value } = must(loadAddon()).kernelTable() as { readonly value: unknown }
  assert.equal(
    value,
    kernelKinds.map((kind) => {
      const { fields, operands, optional = [], inPlace = [] } = rowOf(kind)
      return {
        name: kind,
        fields: Object.keys(fields),
        operands: Object.entries(operands).map(([name, use]) => ({
          name,
          use,
          optional: optional.includes(name),
          inPlace: inPlace.includes(name)
        }))
      }
    })
  )
})

test('layouts and their blocks are the same in both languages', () => {
  const { value } = must(loadAddon()).layoutTable() as {
    readonly value: readonly {
      readonly name: string
      readonly channels: number
      readonly out: number
      readonly in: number
      readonly groups: number
      readonly perTap: number
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
    assert.is(weightElements(layout, [1, 1, 1, 1], 1), block.out * block.in * block.groups * block.perTap, layout)
  }
})

test.run()
