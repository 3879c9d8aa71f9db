'use strict'
// Runs the command line again and again in one process, since each start of Node takes longer than
// what most commands do: for each list of arguments in a message it answers with status, stdout and
// stderr.
const [cli] = process.argv.slice(2)
const { main } = require(cli)

// Each run listens anew.
for (const events of [process, process.stdout, process.stderr]) events.setMaxListeners(0)

const texts = { stdout: '', stderr: '' }
for (const name of Object.keys(texts))
  process[name].write = (text, ...rest) => {
    texts[name] += text
    rest.find((one) => typeof one === 'function')?.()
    return true
  }

process.on('message', async (args) => {
  Object.assign(texts, { stdout: '', stderr: '' })
  process.exitCode = undefined
  await main([process.execPath, cli, ...args])
  process.send({ status: process.exitCode ?? 0, ...texts })
})

process.on('disconnect', () => {
  // A run's listeners would say that it ended badly.
  process.removeAllListeners('exit')
  process.exit(0)
})
