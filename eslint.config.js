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

module.exports = typescript.config(
  { ignores: ['node_modules/', 'native/build*/', 'test/rejected/', 'out/'] },
  {
    files: ['**/*.ts'],
    extends: [...typescript.configs.recommended],
    plugins: { boundaries },
    settings: {
      'import/resolver': { node: { extensions: ['.ts', '.js', '.json'] } },
      'boundaries/elements': Object.keys(mayImport).map((folder) => ({ type: folder, partialMatch: false, pattern: `${folder}/**` }))
    },
    rules: {
      'boundaries/dependencies': [
        'error',
        {
          default: 'disallow',
          policies: [
            { allow: { to: { module: { origin: ['external', 'core'] } } } },
            ...Object.entries(mayImport).map(([folder, allowed]) => ({
              from: { element: { type: folder } },
              allow: { to: { element: { types: { anyOf: [folder, ...allowed] } } } }
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
