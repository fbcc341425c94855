// Publishes a release: the package, the image and the chart. `node scripts/release.js [--dry-run] --image NAME --charts OCI-URL`, as
// docs/releasing.md has it. Everything is checked before anything is published; with --dry-run nothing is.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

const options = {
  'dry-run': { type: 'boolean', default: false },
  image: { type: 'string' },
  charts: { type: 'string' },
}
const { values } = parseArgs({ options })
const { 'dry-run': isDry, image, charts } = values
if (image === undefined || charts?.startsWith('oci://') !== true) {
  console.error('Give --image NAME and --charts oci://….')
  process.exit(2)
}

const read = file => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const manifest = JSON.parse(read('package.json'))
const { version } = manifest
const problems = [
  ...[
    ['Dockerfile', `image.version="${version}"`],
    ['deploy/helm/pipespan/Chart.yaml', `\nversion: ${version}\nappVersion: ${version}\n`],
    ['deploy/compose/compose.yaml', `image: pipespan:${version}\n`],
    ['docs/releasing.md', `pipespan-${version}.tgz`],
  ].flatMap(([file, text]) => (read(file).includes(text) ? [] : [`${file} does not have version ${version}.`])),
  // What only a release needs: a dry run names it and goes on.
  ...(manifest.repository === undefined
    ? [
        'package.json has no `repository`, which npm needs for provenance: set it to the public repository that you publish from.',
      ]
    : []),
  ...(read('CHANGELOG.md').includes(`\n## ${version}`) ? [] : [`CHANGELOG.md has no heading ${version}.`]),
  ...(said('git', 'status', '--porcelain') === '' ? [] : ['The checkout is not clean.']),
  ...(said('git', 'tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)
    ? []
    : [`This commit has no tag v${version}.`]),
]
for (const problem of problems) console.error(`${isDry ? 'before a release' : 'refused'}: ${problem}`)
if (problems.length > 0 && !isDry) process.exit(1)

const charted = mkdtempSync(path.join(tmpdir(), 'pipespan-chart-'))
process.on('exit', () => rmSync(charted, { recursive: true, force: true }))
const platforms = 'linux/amd64,linux/arm64'
const steps = [
  ['npm', 'run', '-s', 'build'],
  ['npm', 'publish', '--provenance', '--access', 'public', '--ignore-scripts'],
  [
    'docker',
    'buildx',
    'build',
    '--platform',
    platforms,
    '--provenance=mode=max',
    '--sbom=true',
    '--tag',
    `${image}:${version}`,
    '--push',
    '.',
  ],
  ['helm', 'package', 'deploy/helm/pipespan', '--destination', charted],
  ['helm', 'push', path.join(charted, `pipespan-${version}.tgz`), charts],
]
/** What a dry run does too: it changes nothing. */
const harmless = { 'npm publish': ['--dry-run'], 'helm package': [] }
for (const step of steps) {
  const [program, ...args] = step
  const more = harmless[`${program} ${args[0]}`]
  if (isDry && (more === undefined || spawnSync(program, ['--help'], { stdio: 'ignore' }).error !== undefined)) {
    console.log(`would run: ${step.join(' ')}`)
    continue
  }
  const whole = isDry ? [...args, ...more] : args
  console.log(`${program} ${whole.join(' ')}`)
  const { status } = spawnSync(program, whole, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) {
    console.error(`${program} ended with ${status}: nothing after it was done.`)
    process.exit(1)
  }
}

function said(program, ...args) {
  return spawnSync(program, args, { encoding: 'utf8' }).stdout ?? ''
}
