'use strict'
// Compiles what the npm package holds into dist/, before it is packed: JavaScript with source maps
// and declarations, and ECMAScript modules that give the same by name.
const { spawnSync } = require('node:child_process')
const { cpSync, mkdirSync, rmSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '..', '..')
const dist = join(root, 'dist')

/** In JavaScript already: what loads TypeScript needs them too, or a page's browser. */
const asTheyAre = [
  'src/files/cache-folder.js',
  'src/files/cache-folder.d.ts',
  'src/files/cached-text.js',
  'src/files/cached-text.d.ts',
  'src/modules/checked-program.js',
  'src/modules/transpile.js',
  'src/modules/ts-node-hooks.mjs',
  'src/reports/page',
  'src/ts-node.js'
]

const compile = () => {
  const compiler = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc')
  const { status } = spawnSync(process.execPath, [compiler, '-p', join(__dirname, 'tsconfig.json')], { stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    console.error('the package cannot be compiled, see above')
    process.exit(1)
  }
}

/**
 * An ECMAScript module with the same exports as a CommonJS one, which both kinds of users share.
 */
const wrap = (name, target) => {
  const names = Object.keys(require(join(dist, `${target}.js`)))
  const from = `../${target}.js`
  // What transpiles modules, as jiti may, takes no CommonJS module for a default export.
  const shared = `import * as loaded from '${from}'\nconst shared = loaded.default ?? loaded\n`
  writeFileSync(join(dist, 'esm', `${name}.mjs`), `${shared}export const { ${names.join(', ')} } = shared\n`)
  writeFileSync(join(dist, 'esm', `${name}.d.mts`), `export * from '${from}'\n`)
}

rmSync(dist, { recursive: true, force: true })
compile()
asTheyAre.forEach((path) => cpSync(join(root, path), join(dist, path), { recursive: true }))
mkdirSync(join(dist, 'esm'))
for (const [name, entry] of Object.entries(require('../../package.json').exports)) {
  if (typeof entry === 'string') continue
  const [, target] = /^\.\/dist\/(.*)\.js$/.exec(entry.require.default)
  wrap(name === '.' ? 'index' : name.slice(2), target)
}
