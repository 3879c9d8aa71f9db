'use strict'
// Makes a fresh clone ready to run, with nothing but Node: npm packages, the system's oneDNN, the
// native addon (not with --no-addon), and with --tests what tests run beside it.
require('./check-node.js')
const { spawnSync } = require('node:child_process')
const { existsSync, readFileSync, readdirSync, rmSync, statSync, utimesSync } = require('node:fs')
const { join } = require('node:path')
const { missingForTests, missingTools } = require('./missing-tools.js')
const { markBundled } = require('./packaging/mark-bundled.js')

const root = join(__dirname, '..')
const addon = join(root, 'native', 'build', 'Release', 'tilefold.node')

const succeeds = (command, args, input = '') =>
  spawnSync(command, args, { cwd: root, input, stdio: ['pipe', 'ignore', 'ignore'] }).status === 0

const run = (command, args) => {
  console.error(`> ${command} ${args.join(' ')}`)
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['inherit', 2, 2] })
  if (status !== 0) stop(`\`${command} ${args.join(' ')}\` failed, see above.`)
}

const stop = (sentence) => {
  console.error(sentence)
  process.exit(1)
}

const changedAt = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0)

/** Versions by place of what a lock file names, platform-specific packages aside. */
const lockedVersions = (path) => {
  if (!existsSync(path)) return {}
  const { packages } = JSON.parse(readFileSync(path, 'utf8'))
  return Object.fromEntries(
    Object.entries(packages).flatMap(([place, { version, optional }]) => (place === '' || optional ? [] : [[place, version]]))
  )
}

const installPackages = () => {
  const installed = lockedVersions(join(root, 'node_modules', '.package-lock.json'))
  const wanted = Object.entries(lockedVersions(join(root, 'package-lock.json')))
  if (wanted.some(([place, version]) => installed[place] !== version)) run('npm', ['ci', '--no-audit', '--no-fund'])
}

/** Commands of apt-get for packages; undefined where it is not there, or not for this user. */
const aptCommands = (install) => {
  const isRoot = process.getuid !== undefined && process.getuid() === 0
  const canInstall = succeeds('apt-get', ['--version']) && (isRoot || succeeds('sudo', ['-n', 'true']))
  return canInstall ? [['apt-get', 'update'], install].map((command) => (isRoot ? command : ['sudo', '-n', ...command])) : undefined
}

const installOf = (packages) => ['apt-get', 'install', '-y', '--no-install-recommends', ...packages]

const installSystem = () => {
  const packages = missingTools().map((tool) => tool.package)
  if (packages.length === 0) return
  const install = installOf(packages)
  const commands = aptCommands(install)
  if (commands === undefined)
    stop(`These system packages are missing: ${packages.join(' ')}; install them with \`sudo ${install.join(' ')}\` and run this again.`)
  for (const [command, ...args] of commands) run(command, args)
  const missing = missingTools().map(({ name }) => name)
  if (missing.length > 0)
    stop(`This system's packages bring no ${missing.join(', no ')}: take a newer system, or install prebuilt packages (docs/install.md).`)
}

/** What tests run beside Tilefold; they skip what they do not find. */
const installForTests = () => {
  const packages = missingForTests().map((tool) => tool.package)
  if (packages.length === 0) return
  const install = installOf(packages)
  const installed = aptCommands(install)?.every(([command, ...args]) => {
    console.error(`> ${command} ${args.join(' ')}`)
    return succeeds(command, args)
  })
  if (installed !== true)
    console.error(`Tests that need ${packages.join(' ')} are skipped; \`sudo ${install.join(' ')}\` installs what is missing.`)
}

const newestSource = (folder) =>
  readdirSync(folder, { withFileTypes: true }).reduce(
    (newest, entry) => Math.max(newest, entry.isDirectory() ? newestSource(join(folder, entry.name)) : changedAt(join(folder, entry.name))),
    0
  )

const buildAddon = () => {
  const sources = Math.max(newestSource(join(root, 'native', 'src')), changedAt(join(root, 'native', 'CMakeLists.txt')))
  if (changedAt(addon) >= sources) return
  const build = join(root, 'native', 'build')
  // Where configuring failed, for want of a library, CMake would take it for done.
  if (!['build.ninja', 'Makefile'].some((file) => existsSync(join(build, file)))) rmSync(build, { recursive: true, force: true })
  run(join('node_modules', '.bin', 'cmake-js'), ['build', '--directory', 'native'])
  // A change that alters nothing in the addon would otherwise build again every time.
  utimesSync(addon, new Date(), new Date())
}

installPackages()
// Where packing failed, npm did not take the marks away.
markBundled(false)
installSystem()
if (process.argv.includes('--tests')) installForTests()
if (!process.argv.includes('--no-addon')) buildAddon()
