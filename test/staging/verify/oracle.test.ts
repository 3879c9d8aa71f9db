// The verifier proves loops and boxes symbolically; here every byte of every iteration is counted
// out.
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { buildGraph, referenceModel, stage, verify, type Instruction, type Program } from '../../../staging'
import type { Address } from '../../../staging/program/address'
import { tileAxes } from '../../../staging/program/program'
import { elementSizes } from '../../../staging/kernels/precision'
import { chooseCoordinates, repeatBoxes, runBoxes, subtract, type Box, type Coordinates } from '../../../staging/verify/boxes'
import { operandRegions } from '../../../staging/verify/operand-regions'
import { changeOperand, drop, launches, replaceAt, shifted } from './edit-program'
import { drawsOf, netKind, randomNet, type Draw } from '../random-nets'
import { asWritten } from '../../golden/execute'
import { must } from '../../must'
import { randomSegments } from '../random-segments'

/**
 * Runs restore and step; whether every byte read was last written by its own buffer, and nothing
 * reaches out of it.
 */
const soundByCounting = (program: Program): boolean => {
  const kernels = program.kernels.map((kernel) => operandRegions(kernel, elementSizes(program.precision)))
  /** Which buffer wrote each byte last, plus one. */
  const owner = new Int32Array(program.peakBytes)
  let sound = true
  const touch = (use: string, buffer: number, from: number, to: number): void => {
    const { offset, bytes } = program.buffers[buffer]!
    if (from < offset || to > offset + bytes) sound = false
    else if (use === 'read' || use === 'accumulate') sound &&= owner.subarray(from, to).every((one) => one === buffer + 1)
    if (sound) owner.fill(use === 'scratch' ? 0 : buffer + 1, from, use === 'read' ? from : to)
  }
  const operand = (
    { base, strides, buffer }: Address,
    { region, use }: (typeof kernels)[number][number],
    tile: readonly number[]
  ): void => {
    const start = strides.reduce((sum, stride, axis) => sum + stride * tile[axis]!, base)
    const end = program.buffers[buffer!]!.offset + program.buffers[buffer!]!.bytes
    if (region.kind === 'index') return
    if (region.kind === 'rest') return touch(use, buffer!, start, end)
    const runs = region.repeats.reduce<readonly number[]>(
      (starts, { count, stride }) => starts.flatMap((first) => Array.from({ length: count }, (_, index) => first + index * stride)),
      [start + (region.start ?? 0)]
    )
    for (const run of runs) touch(use, buffer!, run, run + region.run)
  }
  const run = (code: readonly Instruction[], tile: readonly number[]): void => {
    for (const one of code) {
      if (!sound) return
      if (one.kind === 'loop')
        for (let index = 0; index < one.count; index++)
          run(
            one.body,
            tile.map((old, axis) => (tileAxes[axis] === one.axis ? index : old))
          )
      else if (one.kind === 'launch') {
        const regions = kernels[one.kernel]!
        for (const wanted of [
          ['read', 'accumulate'],
          ['write', 'scratch']
        ])
          one.operands.forEach((address, position) => {
            if (address.space === 'arena' && wanted.includes(regions[position]!.use)) operand(address, regions[position]!, tile)
          })
      }
    }
  }
  run(program.restore.code, [0, 0, 0])
  run(program.step.code, [0, 0, 0])
  return sound
}

const pick = <A>(draw: Draw, from: readonly A[]): A => from[draw(0, from.length - 1)]!

/**
 * One instruction dropped or moved, or one address changed by a few elements or a whole row of
 * tiles.
 */
const mutant = (draw: Draw, program: Program): Program => {
  const { path, launch } = pick(draw, launches(program))
  const operand = draw(0, launch.operands.length - 1)
  const bytes = 8 * pick(draw, [1, -1, 2, -4, draw(-64, 64)])
  switch (draw(0, 3)) {
    case 0:
      return drop(program, 'step', path)
    case 1: {
      const other = pick(draw, launches(program))
      return replaceAt(program, 'step', path, () => [other.launch])
    }
    case 2:
      return changeOperand(program, 'step', path, operand, shifted(bytes))
    default:
      return changeOperand(program, 'step', path, operand, (address) => {
        const [batch, rows, columns] = address.strides
        return { ...address, strides: draw(0, 1) === 1 ? [batch, rows + bytes, columns] : [batch, rows, columns + bytes] }
      })
  }
}

test('what the verifier accepts is sound when counted out, broken or not', () => {
  let [accepted, refused, unsound] = [0, 0, 0]
  for (let seed = 0; seed < 40; seed++) {
    const draw = drawsOf(seed)
    const { model, input } = randomNet(draw, netKind(seed))
    const graph = must(buildGraph(model, input))
    const { program } = must(
      stage({
        model,
        input,
        strategy: 'plain',
        given: asWritten(randomSegments(draw, graph)),
        device: referenceModel('float64'),
        objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 } },
        source: { kind: 'float' }
      })
    )
    assert.ok(soundByCounting(program), `seed ${seed}`)
    for (let run = 0; run < 20; run++) {
      const broken = mutant(draw, program)
      const sound = soundByCounting(broken)
      if (!sound) unsound++
      if (isRight(verify(broken))) {
        accepted++
        assert.ok(sound, `seed ${seed}, change ${run}`)
      } else refused++
    }
  }
  if (process.env.TILEFOLD_FIGURES !== undefined)
    console.log(`${refused} of ${accepted + refused} changes refused, ${unsound} unsound when counted out`)
  assert.ok(refused > unsound && unsound > 0)
})

const bytesIn = ({ strides }: Coordinates, boxes: readonly Box[]): ReadonlySet<number> => {
  const bytes = new Set<number>()
  const list = (box: Box, level: number, base: number): void => {
    if (level < 0) bytes.add(base)
    else for (let digit = box.low[level]!; digit < box.high[level]!; digit++) list(box, level - 1, base + digit * strides[level]!)
  }
  for (const box of boxes) list(box, strides.length - 1, 0)
  return bytes
}

test('boxes hold the bytes that they stand for', () => {
  const draw = drawsOf(3)
  for (let run = 0; run < 2000; run++) {
    const bytes = draw(8, 120)
    const system = chooseCoordinates(bytes, [draw(2, 6), draw(2, 40), draw(2, 40)])
    const random = (): readonly [number, number] => {
      const from = draw(0, bytes - 1)
      return [from, draw(from + 1, bytes)]
    }
    const [[from, to], [cutFrom, cutTo]] = [random(), random()]
    const boxes = runBoxes(system, from, to)
    const wanted = Array.from({ length: to - from }, (_, index) => from + index)
    assert.equal(
      [...bytesIn(system, boxes)].sort((a, b) => a - b),
      wanted
    )
    const left = subtract(boxes, runBoxes(system, cutFrom, cutTo))
    assert.equal(
      [...bytesIn(system, left)].sort((a, b) => a - b),
      wanted.filter((byte) => byte < cutFrom || byte >= cutTo)
    )
    const count = draw(1, 4)
    const stride = draw(0, Math.floor((bytes - to) / Math.max(1, count - 1)))
    const repeated = new Set(wanted.flatMap((byte) => Array.from({ length: count }, (_, index) => byte + index * stride)))
    if (count === 1 || to + stride * (count - 1) <= bytes) {
      const cover = repeatBoxes(system, boxes, stride, count)
      const held = bytesIn(system, cover.boxes)
      assert.ok([...repeated].every((byte) => held.has(byte)))
      if (cover.exact) assert.is(held.size, repeated.size)
    }
  }
})

test.run()
