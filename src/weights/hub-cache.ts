import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import * as E from 'fp-ts/Either'
import { writeFileAtomic } from '../files/atomic-write'
import { homeFolder } from '../files/cache-folder'
import { type Waiting, withExclusiveUse } from '../files/exclusive-use'
import { makeFolder } from '../files/make-folder'

/** A file of a repository of models, at a branch, tag or commit. */
export interface HubFile {
  /** `owner/name`. */
  readonly repository: string
  readonly revision: string
  readonly file: string
}

const home = (): string => process.env.HF_HOME ?? join(process.env.XDG_CACHE_HOME ?? join(homeFolder(), '.cache'), 'huggingface')

/**
 * The folder of what was downloaded, which programs of Hugging Face share: HF_HUB_CACHE, or `hub`
 * in HF_HOME, or in ~/.cache/huggingface.
 */
export const hubCacheFolder = (): string => process.env.HF_HUB_CACHE ?? process.env.HUGGINGFACE_HUB_CACHE ?? join(home(), 'hub')

const repositoryFolder = ({ repository }: HubFile): string => join(hubCacheFolder(), `models--${repository.replaceAll('/', '--')}`)

/** Where a file of a commit lies: a link to its bytes, in `blobs`. */
const snapshotPath = (file: HubFile, commit: string): string => join(repositoryFolder(file), 'snapshots', commit, file.file)

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false
  )

/** A revision that is a commit, which never changes. */
export const commitName = /^[0-9a-f]{40}$/

/** What the cache holds of a file without asking the hub; undefined where that is nothing. */
export const findCached = async (file: HubFile): Promise<string | undefined> => {
  const commit = commitName.test(file.revision)
    ? file.revision
    : await readFile(join(repositoryFolder(file), 'refs', file.revision), 'utf8').then(
        (text) => text.trim(),
        () => undefined
      )
  if (commit === undefined || !commitName.test(commit)) return undefined
  const path = snapshotPath(file, commit)
  return (await isThere(path)) ? path : undefined
}

/** The token of the user: HF_TOKEN, or what the hub's own programs keep; undefined without one. */
export const findToken = async (): Promise<string | undefined> => {
  const given = process.env.HF_TOKEN?.trim()
  if (given !== undefined && given !== '') return given
  const stored = await readFile(process.env.HF_TOKEN_PATH ?? join(home(), 'token'), 'utf8').catch(() => '')
  return stored.trim() === '' ? undefined : stored.trim()
}

/** A file's commit, hash and bytes, as the hub says them. */
export interface HubInfo {
  readonly commit: string
  /** What names its bytes: a SHA-256 of large files, else Git's. */
  readonly etag: string
  readonly size: number
}

const sha256Name = /^[0-9a-f]{64}$/

const computeSha256 = async (path: string): Promise<string> => {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

const readSize = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0
  )

/** Appends from an offset on what a file lacks. */
type Download = (path: string, from: number) => Promise<void>

/** Downloads the bytes to a file beside, which is renamed when it is whole. */
const completeBlob = async (blob: string, { etag, size }: HubInfo, download: Download): Promise<void> => {
  const incomplete = `${blob}.incomplete`
  if ((await readSize(incomplete)) > size) await rm(incomplete)
  const held = await readSize(incomplete)
  if (held < size || size === 0) await download(incomplete, held)
  const found = await readSize(incomplete)
  if (found < size) throw new Error(`the download ended after ${found} of ${size} bytes: run again to go on`)
  if (found > size || (sha256Name.test(etag) && (await computeSha256(incomplete)) !== etag)) {
    await rm(incomplete)
    throw new Error(`what came is not the file that the hub names ${etag}: run again, to download it anew`)
  }
  await rename(incomplete, blob)
}

/** Where the hub's own programs lock a download, too. */
const lockPath = (file: HubFile, etag: string): string => join(hubCacheFolder(), '.locks', basename(repositoryFolder(file)), `${etag}.lock`)

/**
 * The place of a file in the cache, once its bytes are there: where they are not, `download` gets
 * those that lack, while nobody else does; `waiting` is told who does. Throws where what came is of
 * another size or sum.
 */
export const cacheFile = async (file: HubFile, info: HubInfo, download: Download, waiting: Waiting): Promise<string> => {
  const { commit, etag } = info
  const folder = repositoryFolder(file)
  const blob = join(folder, 'blobs', etag)
  const path = snapshotPath(file, commit)
  if (!(await isThere(path))) {
    const lock = lockPath(file, etag)
    for (const place of [blob, path, lock]) await makeFolder(dirname(place))
    const use = async (): Promise<void> => {
      if (!(await isThere(blob))) await completeBlob(blob, info, download)
      if (await isThere(path)) return
      await rm(path, { force: true })
      await symlink(relative(dirname(path), blob), path)
    }
    await withExclusiveUse(lock, use, waiting)
  }
  if (!commitName.test(file.revision)) {
    const reference = join(folder, 'refs', file.revision)
    await makeFolder(dirname(reference))
    const written = await writeFileAtomic(reference, () => [Buffer.from(commit)])()
    if (E.isLeft(written)) throw new Error(written.left.message)
  }
  return path
}
