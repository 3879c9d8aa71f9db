/** What benchmarks of steps ask of staging. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { requestFor } from '../../bench/request'
import { must } from '../must'

test('a link that is limited is planned by', () => {
  const { device } = must(requestFor({ model: 'vgg11', size: 64, threads: 1, link: 2e9 }))
  assert.equal(device.linkBytesPerSecond, { toDevice: 2e9, toHost: 2e9 })
})

test.run()
