'use strict'
// Runs the command line again and again in one process, since each start of Node takes longer than
// what most commands do: node commands-in-turn.js CLI ARGUMENTS RESULTS. ARGUMENTS is a file with a
// list of lists; RESULTS gets a line of JSON for each, with status, stdout and stderr.
const { appendFileSync, readFileSync } = require('node:fs')

const [cli, listed, results] = process.argv.slice(2)
const { main } = require(cli)

// Each run listens anew.
for (const events of [process, process.stdout, process.stderr]) events.setMaxListeners(0)

const texts = { stdout: '', stderr: '' }
for (const name of Object.keys(texts))
  process[name].write = (text) => {
    texts[name] += text
    return true
  }

const runAll = async () => {
  for (const args of JSON.parse(readFileSync(listed, 'utf8'))) {
    Object.assign(texts, { stdout: '', stderr: '' })
    process.exitCode = undefined
    await main([process.execPath, cli, ...args])
    appendFileSync(results, `${JSON.stringify({ status: process.exitCode ?? 0, ...texts })}\n`)
  }
  // A run's listeners would say that it ended badly.
  process.removeAllListeners('exit')
  process.exit(0)
}

void runAll()
