'use strict'
const { homedir } = require('node:os')
const { join } = require('node:path')

exports.cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tilefold')
