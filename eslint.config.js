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
  examples: ['dsl', 'staging', 'native', 'src'],
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
  images: ['failure', 'files'],
  datasets: ['failure', 'files', 'images', 'options', 'tasks'],
  weights: ['failure', 'files', 'numbers', 'options'],
  plans: ['failure', 'files', 'model', 'modules', 'option-tables', 'options', 'text'],
  reports: ['datasets', 'failure', 'files', 'images', 'plans', 'results', 'text'],
  metrics: ['datasets', 'images'],
  ranks: ['failure'],
  running: ['failure', 'images', 'plans', 'tasks', 'text', 'weights'],
  training: [
    'datasets',
    'failure',
    'files',
    'images',
    'metrics',
    'model',
    'numbers',
    'option-tables',
    'options',
    'plans',
    'ranks',
    'running',
    'tasks',
    'text',
    'weights'
  ],
  tracking: ['failure', 'files', 'images', 'results', 'training'],
  results: ['datasets', 'failure', 'files', 'images'],
  predicting: ['datasets', 'failure', 'files', 'images', 'model', 'numbers', 'plans', 'results', 'running', 'weights'],
  'option-tables': ['datasets', 'failure', 'images', 'model', 'options', 'plans', 'results', 'text', 'training', 'weights'],
  commands: [
    'datasets',
    'failure',
    'files',
    'images',
    'model',
    'numbers',
    'option-tables',
    'options',
    'plans',
    'predicting',
    'ranks',
    'reports',
    'results',
    'running',
    'tasks',
    'text',
    'tracking',
    'training',
    'weights'
  ],
  cli: ['commands', 'failure', 'metrics', 'numbers', 'option-tables', 'options', 'plans', 'ranks', 'results', 'running', 'text', 'training']
}
const srcParts = Object.keys(srcMayImport).map((folder) => `src-${folder}`)

// What each folder of staging may import of staging, from the lowest up: the table of its folders in
// docs/architecture.md.
const stagingMayImport = {
  decoding: [],
  pointwise: [],
  kernels: ['pointwise'],
  program: ['kernels'],
  devices: ['decoding', 'kernels', 'program'],
  graph: ['program'],
  plans: ['decoding', 'graph'],
  'lowering/ir': ['graph', 'kernels', 'program'],
  placement: ['lowering/ir'],
  'lowering/scope': ['devices', 'graph', 'kernels', 'lowering/ir', 'placement', 'plans', 'program'],
  ops: ['devices', 'graph', 'kernels', 'lowering/ir', 'lowering/scope', 'pointwise'],
  'lowering/tile': ['graph', 'kernels', 'lowering/ir', 'lowering/scope', 'ops', 'plans', 'program'],
  'lowering/segment': ['devices', 'graph', 'kernels', 'lowering/ir', 'lowering/scope', 'lowering/tile', 'ops', 'plans', 'program'],
  'lowering/placement': ['lowering/ir', 'placement', 'plans', 'program'],
  'lowering/step': [
    'devices',
    'graph',
    'kernels',
    'lowering/ir',
    'lowering/scope',
    'lowering/segment',
    'lowering/tile',
    'ops',
    'plans',
    'program'
  ],
  'lowering/cost': [
    'devices',
    'graph',
    'kernels',
    'lowering/ir',
    'lowering/scope',
    'lowering/segment',
    'lowering/step',
    'lowering/tile',
    'ops',
    'placement',
    'plans',
    'program'
  ],
  lowering: [
    'devices',
    'graph',
    'kernels',
    'lowering/ir',
    'lowering/placement',
    'lowering/scope',
    'lowering/segment',
    'lowering/step',
    'placement',
    'plans',
    'program'
  ],
  chain: ['decoding', 'graph', 'ops'],
  strategies: [
    'chain',
    'devices',
    'graph',
    'kernels',
    'lowering/cost',
    'lowering/ir',
    'lowering/scope',
    'lowering/segment',
    'lowering/tile',
    'ops',
    'placement',
    'plans',
    'program'
  ],
  verify: ['decoding', 'kernels', 'program']
}
const stagingPart = (folder) => `staging-${folder.replace('/', '-')}`
const stagingParts = Object.keys(stagingMayImport).map(stagingPart)
// What all of staging may import: files that import nothing of it.
const stagingBase = ['error', 'memoize']

/** Folders of staging and of src are parts of their folder to all others. */
const parts = (folder) => (folder === 'staging' ? ['staging', ...stagingParts] : folder === 'src' ? ['src', ...srcParts] : [folder])

/** The parts that the files of each folder may import, folders before those in them. */
const importable = [
  ...Object.entries(mayImport).map(([folder, others]) => [folder, [folder, ...others].flatMap(parts)]),
  ...Object.entries(srcMayImport).map(([folder, others]) => [
    `src/${folder}`,
    [...[folder, ...others].map((other) => `src-${other}`), ...mayImport.src.flatMap(parts)]
  ]),
  ...Object.entries(stagingMayImport)
    .map(([folder, others]) => [`staging/${folder}`, [...[folder, ...others].map(stagingPart), ...mayImport.staging]])
    .sort(([a], [b]) => a.split('/').length - b.split('/').length)
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
      'boundaries/files': stagingBase.map((file) => ({ category: 'staging-base', pattern: `staging/${file}.ts` })),
      'boundaries/elements': [
        ...Object.keys(stagingMayImport).map((folder) => element(stagingPart(folder), `staging/${folder}`)),
        ...Object.keys(srcMayImport).map((folder) => element(`src-${folder}`, `src/${folder}`)),
        ...Object.keys(mayImport).map((folder) => element(folder, folder))
      ]
    },
    rules: {
      '@typescript-eslint/no-empty-object-type': 'off',
      '@typescript-eslint/no-require-imports': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      eqeqeq: 'error',
      'no-console': 'error',
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
      'no-var': 'error',
      'prefer-const': 'error'
    }
  },
  { files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'], rules: { 'no-console': 'off' } },
  // It lies beside the addon where Tilefold is installed from its packages: images/load-sharp.ts.
  {
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { paths: [{ name: 'sharp', allowTypeImports: true, message: 'Use loadSharp.' }] }
      ]
    }
  },
  // A rule for each folder, of which one knows nothing of the others: one for all took five times
  // as long.
  ...importable
    .filter(([folder]) => folder !== 'test')
    .map(([folder, types]) => ({
      files: [`${folder}/**/*.ts`],
      rules: {
        'boundaries/dependencies': [
          'error',
          {
            default: 'disallow',
            policies: [
              { allow: { to: { module: { origin: ['external', 'core'] } } } },
              ...(folder.startsWith('staging/') ? [{ allow: { to: { file: { categories: 'staging-base' } } } }] : []),
              { allow: { to: { element: { types: { anyOf: types } } } } }
            ]
          }
        ]
      }
    }))
)
