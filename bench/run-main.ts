/** Runs a script; what it throws, such as a machine that is never idle, is a sentence, status 1. */
export const runMain = (main: () => Promise<void>): void => {
  main().catch((error: Error) => {
    process.stderr.write(`Error: ${error.message}\n`)
    process.exitCode = 1
  })
}
