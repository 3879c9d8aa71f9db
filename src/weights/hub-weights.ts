import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure, errorReason } from '../failure'
import type { Waiting } from '../files/exclusive-use'
import { type HubFile, cacheFile, hubCacheFolder, commitName, findCached, findToken } from './hub-cache'
import { loadHub } from './load-hub'

const prefix = 'hf:'
const defaultFile = 'model.safetensors'

/**
 * `hf:owner/name`, with perhaps a revision behind it, its slashes as %2F, and a file of the
 * repository.
 */
const pattern = /^hf:([\w.-]+\/[\w.-]+)(?:@([^/]+))?(?:\/(.+))?$/

const parseHubFile = (text: string): E.Either<Failure, HubFile> => {
  const [, repository, written = 'main', file = defaultFile] = pattern.exec(text) ?? []
  const revision = written.replaceAll(/%2f/gi, '/')
  const isInside = [revision, file].every((path) => !path.split('/').some((part) => part === '' || part === '.' || part === '..'))
  return repository !== undefined && isInside
    ? E.right({ repository, revision, file })
    : E.left(inputFailure(`--weights ${text}: give hf:OWNER/NAME, hf:OWNER/NAME/FILE or hf:OWNER/NAME@REVISION/FILE`))
}

/** Another server than huggingface.co, such as a mirror. */
const endpoint = (): string => (process.env.HF_ENDPOINT ?? 'https://huggingface.co').replace(/\/+$/, '')

/** Whether the user forbids to ask the hub, in the words that its own programs take. */
const isOffline = (): boolean => /^(1|on|yes|true)$/i.test(process.env.HF_HUB_OFFLINE ?? '')

/** What kept a file from being had, and whether the hub could not be asked at all. */
interface Refusal {
  readonly message: string
  readonly isUnreachable?: true
}

const httpStatus = (thrown: unknown): number | undefined => (thrown as { readonly statusCode?: number } | undefined)?.statusCode

const makeRefusal = ({ repository, revision }: HubFile, hasToken: boolean, thrown: unknown): Refusal => {
  const status = httpStatus(thrown)
  const at = endpoint()
  if (status === 401 || status === 403)
    return {
      message: hasToken
        ? `${at} refuses access (${status}): see that ${repository} is the right name, and that the token of HF_TOKEN may read it`
        : `${at} refuses access (${status}): see that ${repository} is the right name, and set HF_TOKEN if it is private or gated`
    }
  if (status === 404) return { message: `${at} has no ${repository} at ${revision}: see that name and revision are right` }
  if (status !== undefined) return { message: `${at} answers ${status} (${errorReason(thrown)}): try again later, or give a file` }
  // What fetch throws says why in its cause.
  const cause = (thrown as { readonly cause?: unknown } | undefined)?.cause
  return cause === undefined
    ? { message: errorReason(thrown) }
    : {
        message: `${at} cannot be reached (${errorReason(cause)}): give a file, or set HF_ENDPOINT to a server that can`,
        isUnreachable: true
      }
}

/** Asks the hub what the file is now, and downloads what the cache lacks. */
const download = async (wanted: HubFile, waiting: Waiting): Promise<E.Either<Refusal, string>> => {
  const accessToken = await findToken()
  let commit: string | undefined
  const asking: typeof fetch = async (url, options) => {
    const response = await fetch(url, { ...options, ...(waiting.signal && { signal: waiting.signal }) })
    commit = response.headers.get('x-repo-commit') ?? commit
    return response
  }
  try {
    const { fileDownloadInfo, downloadFile } = loadHub()
    const { repository: repo, revision, file: path } = wanted
    const asked = { repo, revision, path, hubUrl: endpoint(), fetch: asking, ...(accessToken === undefined ? {} : { accessToken }) }
    const downloadInfo = await fileDownloadInfo(asked)
    if (downloadInfo === null) return E.left({ message: `${repo} has no file ${path} at ${revision}: name one behind it, hf:${repo}/FILE` })
    const etag = downloadInfo.etag.replace(/^W\//, '').replaceAll('"', '')
    if (commit === undefined || !/^[\w.-]+$/.test(etag))
      return E.left({ message: `${endpoint()} does not answer as the hub does: see HF_ENDPOINT` })
    const info = { commit, etag, size: downloadInfo.size }
    return E.right(
      await cacheFile(
        wanted,
        info,
        async (incomplete, from) => {
          const blob = await downloadFile({ ...asked, downloadInfo })
          if (blob === null) throw new Error('it is gone from the hub')
          const rest = from === 0 ? blob : blob.slice(from)
          await pipeline(Readable.fromWeb(rest.stream() as ReadableStream), createWriteStream(incomplete, { flags: 'a' }), {
            signal: waiting.signal
          })
        },
        waiting
      )
    )
  } catch (thrown) {
    return E.left(makeRefusal(wanted, accessToken !== undefined, thrown))
  }
}

interface Asked {
  readonly notice: (sentence: string) => void
  readonly signal?: AbortSignal | undefined
}

/** The file in the cache of the hub; where the hub cannot be reached, what the cache has. */
const findHubFile =
  (text: string, wanted: HubFile, { notice, signal }: Asked): Outcome<string> =>
  async () => {
    const cached = await findCached(wanted)
    if (cached !== undefined && (commitName.test(wanted.revision) || isOffline())) return E.right(cached)
    if (isOffline()) {
      const forbidden = `HF_HUB_OFFLINE=${process.env.HF_HUB_OFFLINE} forbids to ask ${endpoint()}`
      return E.left(
        inputFailure(`--weights ${text}: it is not in ${hubCacheFolder()}, and ${forbidden}: give a file, or leave HF_HUB_OFFLINE out`)
      )
    }
    const onWait = (owner: string): void =>
      notice(`${text} is being downloaded by ${owner === '' ? 'another process' : owner}; waiting until that has ended`)
    const found = await download(wanted, { onWait, signal })
    if (E.isRight(found)) return found
    if (signal?.aborted) return E.left({ code: 'interrupted', message: `interrupted while ${text} was downloaded: run again to go on` })
    const { message, isUnreachable } = found.left
    if (isUnreachable && cached !== undefined) {
      notice(`${text}: ${endpoint()} cannot be reached, so what was downloaded before is taken: ${cached}`)
      return E.right(cached)
    }
    return E.left(inputFailure(`--weights ${text}: ${message}`))
  }

/**
 * Runs `use` with weights that are a file: `hf:owner/name[@revision][/file]`, where a `/` in the
 * revision is written %2F, is downloaded from Hugging Face's hub, or from HF_ENDPOINT, into the
 * cache that all its programs share; anything else is a file already. Fails with code `input` where
 * it cannot be had, and with `interrupted` where the signal is aborted.
 */
export const withHubWeights = <
  O extends {
    readonly weights?: string | undefined
    readonly onNotice?: ((sentence: string) => void) | undefined
    readonly signal?: AbortSignal | undefined
  },
  A
>(
  options: O,
  use: (options: O) => Outcome<A>
): Outcome<A> => {
  const { weights, onNotice, signal } = options
  if (weights === undefined || !weights.startsWith(prefix)) return use(options)
  return pipe(
    TE.fromEither(parseHubFile(weights)),
    TE.chain((wanted) => findHubFile(weights, wanted, { notice: (sentence) => onNotice?.(sentence), signal })),
    TE.chain((path) => use({ ...options, weights: path }))
  )
}
