/**
 * Networks between ranks of this process, of which each waits for the others in a thread of libuv's
 * pool: it has as many as this says when it is first used.
 */
process.env.UV_THREADPOOL_SIZE = '32'

export { localNetworks } from '../native'
