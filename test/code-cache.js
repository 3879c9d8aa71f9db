'use strict'
// Lets V8 read what it compiled in another process, a quarter of a short command. Node 20 has no
// such cache of its own. Texts that import at run time are left to Node.
const { createHash } = require('node:crypto')
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const Module = require('node:module')
const { dirname } = require('node:path')
const { cachedDataVersionTag } = require('node:v8')
const { Script } = require('node:vm')

const hashOf = (text) => createHash('md5').update(text).digest('base64')

/** Where code is kept in a file's name: with other flags V8 refuses it. */
const fileOf = (name) => `${name}.${cachedDataVersionTag()}`

/** By paths of modules: [hash of the text, code]. A line of JSON, and all code behind it. */
const read = (file) => {
  const whole = readFileSync(file)
  const start = whole.indexOf('\n') + 1
  const parts = JSON.parse(whole.toString('utf8', 0, start))
  return new Map(parts.map(([path, hash, from, to]) => [path, [hash, whole.subarray(start + from, start + to)]]))
}

const write = (file, scripts) => {
  let bytes = 0
  const parts = [...scripts].map(([path, [hash, script]]) => ({ path, hash, code: script.createCachedData() }))
  const list = parts.map(({ path, hash, code }) => [path, hash, bytes, (bytes += code.length)])
  writeFileSync(`${file}.${process.pid}`, Buffer.concat([Buffer.from(`${JSON.stringify(list)}\n`), ...parts.map(({ code }) => code)]))
  renameSync(`${file}.${process.pid}`, file)
}

/** As Node makes it for a module. */
const requireOf = (module) => {
  const resolve = (request, options) => Module._resolveFilename(request, module, false, options)
  resolve.paths = (request) => Module._resolveLookupPaths(request, module)
  return Object.assign((path) => module.require(path), {
    resolve,
    main: process.mainModule,
    extensions: Module._extensions,
    cache: Module._cache
  })
}

/** Calls `runs` with a module's script and its text; all else Node compiles by itself. */
const compileBy = (scriptOf) => {
  const { _compile: compile } = Module.prototype
  Module.prototype._compile = function (text, path, ...rest) {
    const isScript = path.startsWith('/') && !text.startsWith('#!') && !text.includes('import(') && rest[0] !== 'module'
    if (!isScript) return compile.call(this, text, path, ...rest)
    const run = scriptOf(text, path).runInThisContext()
    return Reflect.apply(run, this.exports, [this.exports, requireOf(this), this, path, dirname(path)])
  }
}

const readCode = (file) => {
  const known = read(file)
  compileBy((text, filename) => {
    const [hash, cachedData] = known.get(filename) ?? []
    return new Script(Module.wrap(text), { filename, ...(hash === hashOf(text) && { cachedData }) })
  })
}

/** Of all that this process loads from here on, as it is when it ends: functions that ran too. */
const keepCode = (file) => {
  const scripts = new Map()
  compileBy((text, filename) => {
    const script = new Script(Module.wrap(text), { filename })
    scripts.set(filename, [hashOf(text), script])
    return script
  })
  process.on('exit', () => write(file, scripts))
}

/** Reads what was kept under a name, if it was, or keeps it where TILEFOLD_KEEP_CODE is 1. */
exports.useCode = (name) => {
  if (process.env.TILEFOLD_KEEP_CODE === '1') keepCode(fileOf(name))
  else if (existsSync(fileOf(name))) readCode(fileOf(name))
}
