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

// What each folder of src may import of src: the table of its folders in docs/architecture.md.
const srcMayImport = {
  failure: [],
  text: [],
  numbers: [],
  tasks: ['failure'],
  files: ['failure', 'tasks'],
  options: ['failure', 'tasks', 'text'],
  modules: ['failure', 'files'],
  model: ['failure', 'modules', 'options'],
  images: ['failure', 'files', 'options', 'tasks'],
  weights: ['failure', 'files', 'numbers', 'options', 'running'],
  plans: ['failure', 'files', 'model', 'modules', 'option-tables', 'options', 'text'],
  reports: ['failure', 'files', 'plans', 'text'],
  running: ['failure', 'plans', 'tasks', 'text', 'weights'],
  training: ['failure', 'files', 'images', 'model', 'numbers', 'option-tables', 'options', 'plans', 'running', 'tasks', 'weights'],
  'option-tables': ['failure', 'images', 'model', 'options', 'plans', 'text', 'training'],
  commands: [
    'failure',
    'files',
    'images',
    'model',
    'numbers',
    'option-tables',
    'options',
    'plans',
    'reports',
    'running',
    'tasks',
    'text',
    'training',
    'weights'
  ],
  cli: ['failure', 'commands', 'numbers', 'option-tables', 'options', 'plans', 'running', 'text', 'training']
}
const srcParts = Object.keys(srcMayImport).map((folder) => `src-${folder}`)

// The layers of staging/lowering, from the lowest up: none imports one above it.
const layers = ['ir', 'scope', 'ops', 'tile', 'segment', 'placement', 'step', 'cost'].map((layer) => `lowering-${layer}`)

/** Layers, and folders of src, are parts of their folder to all others. */
const parts = (folder) => (folder === 'staging' ? ['staging', ...layers] : folder === 'src' ? ['src', ...srcParts] : [folder])

const policies = [
  ...Object.entries(mayImport).map(([folder, allowed]) => [folder, [folder, ...allowed].flatMap(parts)]),
  ...layers.map((layer, place) => [layer, [...layers.slice(0, place + 1), 'staging', ...mayImport.staging]]),
  ...Object.entries(srcMayImport).map(([folder, allowed]) => [
    `src-${folder}`,
    [...[folder, ...allowed].map((other) => `src-${other}`), ...mayImport.src.flatMap(parts)]
  ])
]

const element = (type, folder) => ({ type, partialMatch: false, pattern: `${folder}/**` })

module.exports = typescript.config(
  { ignores: ['node_modules/', 'native/build*/', 'test/rejected/', 'out/', 'dist/'] },
  {
    files: ['**/*.ts'],
    extends: [...typescript.configs.recommended],
    plugins: { boundaries },
    settings: {
      'import/resolver': { node: { extensions: ['.ts', '.js', '.json'] } },
      'boundaries/elements': [
        ...layers.map((layer) => element(layer, `staging/${layer.replace('-', '/')}`)),
        ...Object.keys(srcMayImport).map((folder) => element(`src-${folder}`, `src/${folder}`)),
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
