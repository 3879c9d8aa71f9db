import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseSize, parseSizeOrZero } from '../../../src/options/sizes'
import { formatBytes, formatMilliseconds } from '../../../src/text/format'

const bytes = (value: number) => E.right({ kind: 'bytes', bytes: value })

test('binary and decimal units, and bare bytes', () => {
  assert.equal(parseSize('256MiB'), bytes(268_435_456))
  assert.equal(parseSize('1.5 GiB'), bytes(1_610_612_736))
  assert.equal(parseSize('7KiB'), bytes(7168))
  assert.equal(parseSize('256MB'), bytes(256_000_000))
  assert.equal(parseSize('2KB'), bytes(2000))
  assert.equal(parseSize('3GB'), bytes(3_000_000_000))
  assert.equal(parseSize('1048576'), bytes(1_048_576))
})

test('a percentage is of plain', () => {
  assert.equal(parseSize('20%'), E.right({ kind: 'ofPlain', fraction: 0.2 }))
})

test('anything else is a sentence', () => {
  for (const text of ['', '12XB', '-5', '0', '1e9', 'GiB', '0.2B', '%', '1 2', '99999999999GiB']) {
    const parsed = parseSize(text)
    assert.ok(E.isLeft(parsed), text)
    assert.match(parsed.left, `"${text}" is not a size`)
  }
})

test('nothing at all is a size where it may be', () => {
  assert.equal(parseSizeOrZero('0'), bytes(0))
  assert.equal(parseSizeOrZero('0GiB'), bytes(0))
  assert.equal(parseSizeOrZero('0%'), E.right({ kind: 'ofPlain', fraction: 0 }))
  assert.equal(parseSizeOrZero('2KB'), bytes(2000))
  for (const text of ['', '-0', '0.2B', '0XB']) assert.ok(E.isLeft(parseSizeOrZero(text)), text)
})

test('sizes and times for people', () => {
  assert.is(formatBytes(512), '512 B')
  assert.is(formatBytes(1536), '1.50 KiB')
  assert.is(formatBytes(256 * 2 ** 20), '256 MiB')
  assert.is(formatBytes(1.4 * 2 ** 30), '1.40 GiB')
  assert.is(formatMilliseconds(12.34), '12.3 ms')
  assert.is(formatMilliseconds(4321), '4.32 s')
  assert.is(formatMilliseconds(300e3), '5.00 min')
})

test.run()
