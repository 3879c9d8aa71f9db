import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure, errorReason } from '../failure'
import { reportPage } from './page'
import type { Report } from './report'

/** Seconds after which a browser asks again. */
const refreshSeconds = 10

const address = '127.0.0.1'

const listen = (server: Server, port: number): Outcome<number> =>
  TE.tryCatch(
    () =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, address, () => resolve((server.address() as AddressInfo).port))
      }),
    (thrown) => inputFailure(`--live ${port}: cannot be served (${errorReason(thrown)}); give another port, or 0 for any that is free`)
  )

/** Sees that a page can be served on a port, before there is one. */
export const checkPort = (port: number): Outcome<void> => {
  const server = createServer()
  return TE.map(() => void server.close())(listen(server, port))
}

/** A page that is served while something runs. */
export interface LivePage {
  readonly url: string
  readonly close: () => void
}

/**
 * Serves a report on a port of 127.0.0.1, made anew each time that it is asked for, to readers on
 * this machine alone: nothing can be changed through it. Port 0 is any that is free.
 */
export const serveReport = (port: number, make: () => Report): Outcome<LivePage> => {
  let hosts: readonly string[] = []
  const server = createServer((request, response) => {
    // A page of elsewhere, whose name leads here, is not answered.
    const status = !hosts.includes(request.headers.host ?? '') ? 403 : request.method !== 'GET' ? 405 : request.url !== '/' ? 404 : 200
    const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', refresh: `${refreshSeconds}` }
    if (status === 200) response.writeHead(status, headers).end(reportPage(make()))
    else response.writeHead(status).end()
  })
  server.unref()
  return pipe(
    listen(server, port),
    TE.map((taken) => {
      hosts = [`${address}:${taken}`, `localhost:${taken}`]
      return {
        url: `http://${address}:${taken}/`,
        close: () => {
          server.close()
          server.closeAllConnections()
        }
      }
    })
  )
}
