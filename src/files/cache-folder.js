'use strict'
const { userInfo } = require('node:os')
const { isAbsolute, join } = require('node:path')

/** In a container the user may have no home: then nothing can be kept there, which is no matter. */
const homeFolder = () => {
  try {
    return isAbsolute(process.env.HOME ?? '') ? process.env.HOME : userInfo().homedir
  } catch {
    return '/'
  }
}
exports.homeFolder = homeFolder

/**
 * A relative path would be another folder in each that a command is called from: by the standard it
 * does not count.
 */
exports.cacheFolder = () => {
  const wanted = process.env.XDG_CACHE_HOME ?? ''
  return join(isAbsolute(wanted) ? wanted : join(homeFolder(), '.cache'), 'tilefold')
}
