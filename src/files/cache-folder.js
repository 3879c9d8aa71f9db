'use strict'
const { homedir } = require('node:os')
const { isAbsolute, join } = require('node:path')

/**
 * A relative path would be another folder in each that a command is called from: by the standard it
 * does not count.
 */
exports.cacheFolder = () => {
  const wanted = process.env.XDG_CACHE_HOME ?? ''
  return join(isAbsolute(wanted) ? wanted : join(homedir(), '.cache'), 'tilefold')
}
