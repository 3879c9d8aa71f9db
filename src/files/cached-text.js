'use strict'
const { createHash, randomUUID } = require('node:crypto')
const { existsSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { cacheFolder } = require('./cache-folder.js')

/** Of texts with their lengths, so that no two lists have the same. */
const hashOf = (...texts) => {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length}:`).update(text)
  return hash.digest('hex')
}

const pathOf = ([kind, ...rest]) => join(process.env.TILEFOLD_KEPT || cacheFolder(), kind, hashOf(JSON.stringify(rest)))

/** A line with the hash of all that the text is, and was made from, and then the text. */
const sealed = (name, source, text) => `${hashOf(JSON.stringify(name), source, text)}\n`

exports.readCachedText = (name, source) => {
  try {
    const whole = readFileSync(pathOf(name), 'utf8')
    const text = whole.slice(whole.indexOf('\n') + 1)
    return whole === sealed(name, source, text) + text ? text : undefined
  } catch {
    return undefined
  }
}

/** Node's own way never ends in /proc, which says that a new folder's own folder is missing. */
const makeFolder = (path) => {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path)
}

/** Whether it went well; what is kept is never missed. */
const attempt = (work) => {
  try {
    work()
    return true
  } catch {
    return false
  }
}

exports.cacheText = (name, source, text) => {
  const path = pathOf(name)
  const temporary = `${path}.${process.pid}.${randomUUID()}.tmp`
  attempt(() => makeFolder(dirname(path)))
  const written = attempt(() => writeFileSync(temporary, sealed(name, source, text) + text))
  if (!written || !attempt(() => renameSync(temporary, path))) attempt(() => unlinkSync(temporary))
}
