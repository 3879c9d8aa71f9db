import { readFileSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import * as assert from 'uvu/assert'
import { type Report, reportCodec } from '../../src/reports/report'

/** The report that an HTML page holds, and nothing else in it. */
export const embeddedReport = (path: string): Report => {
  const [, json] = /<script type="application\/json" id="report">(.*?)<\/script>/s.exec(readFileSync(path, 'utf8'))!
  const decoded = reportCodec.decode(JSON.parse(json!))
  if (E.isLeft(decoded)) throw new Error('the page does not hold a report')
  assert.equal(decoded.right, JSON.parse(json!), 'nothing else is in it')
  return decoded.right
}
