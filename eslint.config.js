'use strict'
const boundaries = require('eslint-plugin-boundaries')
const typescript = require('typescript-eslint')

// What each folder may import of ours: the table of folders in docs/architecture.md.
const mayImport = {
  dsl: [],
  staging: ['dsl'],
  native: ['staging'],
  models: ['dsl'],
  src: ['dsl', 'staging', 'native', 'models'],
  examples: ['dsl', 'staging', 'native', 'models', 'src'],
  bench: ['dsl', 'staging', 'native', 'models', 'src'],
  test: ['dsl', 'staging', 'native', 'models', 'src', 'examples', 'bench']
}

// The layers of staging/lowering, from the lowest up: none imports one above it.
const layers = ['ir', 'scope', 'ops', 'tile', 'segment', 'placement', 'step', 'cost'].map((layer) => `lowering-${layer}`)

/** A layer is a part of its folder to all others. */
const parts = (folder) => (folder === 'staging' ? ['staging', ...layers] : [folder])

const policies = [
  ...Object.entries(mayImport).map(([folder, allowed]) => [folder, [folder, ...allowed].flatMap(parts)]),
  ...layers.map((layer, place) => [layer, [...layers.slice(0, place + 1), 'staging', ...mayImport.staging]])
]

const element = (type, folder) => ({ type, partialMatch: false, pattern: `${folder}/**` })

module.exports = typescript.config(
  { ignores: ['node_modules/', 'native/build*/', 'test/rejected/', 'out/'] },
  {
    files: ['**/*.ts'],
    extends: [...typescript.configs.recommended],
    plugins: { boundaries },
    settings: {
      'import/resolver': { node: { extensions: ['.ts', '.js', '.json'] } },
      'boundaries/elements': [
        ...layers.map((layer) => element(layer, `staging/${layer.replace('-', '/')}`)),
        ...Object.keys(mayImport).map((folder) => element(folder, folder))
      ]
    },
    rules: {
      'boundaries/dependencies': [
        'error',
        {
          default: 'disallow',
          policies: [
            { allow: { to: { module: { origin: ['external', 'core'] } } } },
            ...policies.map(([type, allowed]) => ({
              from: { element: { type } },
              allow: { to: { element: { types: { anyOf: allowed } } } }
            }))
          ]
        }
      ],
      '@typescript-eslint/no-empty-object-type': 'off',
      '@typescript-eslint/no-require-imports': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      eqeqeq: 'error',
      'no-console': 'error',
      'no-var': 'error',
      'prefer-const': 'error'
    }
  },
  { files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'], rules: { 'no-console': 'off' } }
)
