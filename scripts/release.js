// Publishes a release: the package, the image, the chart, and the files for machines without npm (`artifacts.js`), all signed.
// `node scripts/release.js [--dry-run] --image NAME --charts OCI-URL [--out FOLDER]`, as docs/releasing.md has it. Everything is checked
// before anything is published; with --dry-run nothing is, and only the files for this machine's processor are built.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

const options = {
  'dry-run': { type: 'boolean', default: false },
  image: { type: 'string' },
  charts: { type: 'string' },
  out: { type: 'string', default: 'release' },
}
const { values } = parseArgs({ options })
const { 'dry-run': isDry, image, charts, out } = values
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
const [metadata, sums] = [path.join(charted, 'image.json'), path.join(out, 'SHA256SUMS')]
const steps = [
  ['npm', 'run', '-s', 'build'],
  ['node', 'scripts/artifacts.js', '--out', out],
  ['npm', 'publish', '--provenance', '--access', 'public'],
  // prettier-ignore
  ['docker', 'buildx', 'build', '--platform', 'linux/amd64,linux/arm64', '--provenance=mode=max', '--sbom=true',
    '--metadata-file', metadata, '--tag', `${image}:${version}`, '--push', '.'],
  ['helm', 'package', 'deploy/helm/pipespan', '--destination', charted],
  ['helm', 'push', path.join(charted, `pipespan-${version}.tgz`), charts],
  // A signature is over a digest: a tag could be moved.
  ['cosign', 'sign', '--yes', `${image}@DIGEST`],
  ['cosign', 'sign', '--yes', `${charts.slice('oci://'.length)}/pipespan@DIGEST`],
  ['cosign', 'sign-blob', '--yes', '--bundle', `${sums}.sigstore.json`, sums],
]
/** The digests of the image and the chart, once they are published. */
const digests = {}
/** Steps that a dry run runs too, with these options: they change nothing elsewhere. */
const harmless = {
  'npm publish': ['--dry-run'],
  'helm package': [],
  'node scripts/artifacts.js': ['--arch', process.arch],
}
for (const [program, ...args] of steps) {
  const name = `${program} ${args[0]}`
  const more = harmless[name]
  if (isDry && (more === undefined || spawnSync(program, ['--help'], { stdio: 'ignore' }).error !== undefined)) {
    console.log(`would run: ${program} ${args.join(' ')}`)
    continue
  }
  const whole = [
    ...args.map(arg => arg.replace(/^(.*)@DIGEST$/, (_, of) => `${of}@${digests[of]}`)),
    ...(isDry ? more : []),
  ]
  console.log(`${program} ${whole.join(' ')}`)
  // Helm prints the digest among its messages.
  const messages = name === 'helm push' ? 'pipe' : 'inherit'
  const { status, stderr } = spawnSync(program, whole, { stdio: ['ignore', 'inherit', messages], encoding: 'utf8' })
  process.stderr.write(stderr ?? '')
  if (status !== 0) {
    console.error(`${program} ended with ${status}: nothing after it was done.`)
    process.exit(1)
  }
  if (name === 'docker buildx') digests[image] = JSON.parse(readFileSync(metadata, 'utf8'))['containerimage.digest']
  if (name === 'helm push')
    digests[`${charts.slice('oci://'.length)}/pipespan`] = /sha256:[0-9a-f]{64}/.exec(stderr)?.[0]
}

function said(program, ...args) {
  return spawnSync(program, args, { encoding: 'utf8' }).stdout ?? ''
}
