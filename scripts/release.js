// Publishes a release: the package, the image, the chart, and the files for machines without npm (`artifacts.js`), all signed.
//
//   node scripts/release.js --prepare VERSION       writes the version everywhere, and dates its heading in CHANGELOG.md
//   node scripts/release.js [--dry-run] --image NAME --charts OCI-URL [--out FOLDER]
//
// Everything is checked before anything is published. With --dry-run all files are built, but nothing is published.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { isDated, unreleasedIn, withHeading } from './changelog.js'
import { writeSums } from './check-sums.js'
import { writeVersion, writtenVersions } from './written-versions.js'

const options = {
  prepare: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  image: { type: 'string' },
  charts: { type: 'string' },
  out: { type: 'string', default: 'release' },
}
const { values } = parseArgs({ options })
const { 'dry-run': isDry, image, charts, out } = values
const fileOf = file => new URL(`../${file}`, import.meta.url)
const read = file => readFileSync(fileOf(file), 'utf8')

if (values.prepare !== undefined) {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(values.prepare)) {
    console.error(`--prepare takes a version such as 1.2.3, not ${values.prepare}.`)
    process.exit(2)
  }
  writeVersion(values.prepare)
  const today = new Date().toISOString().slice(0, 10)
  writeFileSync(fileOf('CHANGELOG.md'), withHeading(read('CHANGELOG.md'), values.prepare, today))
  console.log('Run `npm run docs`, read CHANGELOG.md, commit, and tag the commit.')
  process.exit(0)
}
if (image === undefined || charts?.startsWith('oci://') !== true) {
  console.error('Give --image NAME and --charts oci://….')
  process.exit(2)
}

const manifest = JSON.parse(read('package.json'))
const { version } = manifest
const changelog = read('CHANGELOG.md')
const problems = [
  ...writtenVersions().flatMap(one =>
    one.version === version ? [] : [`${one.file} has version ${one.version}, not ${version}: use --prepare.`],
  ),
  // A release stops if one of these problems is found. A dry run only prints them.
  ...(manifest.repository === undefined
    ? [
        'package.json has no `repository`, which npm needs for provenance: set it to the public repository that you publish from.',
      ]
    : []),
  ...(unreleasedIn(changelog) === ''
    ? []
    : [`CHANGELOG.md has changes under Unreleased: --prepare moves them below the heading of the version.`]),
  ...(isDated(changelog, version) ? [] : [`CHANGELOG.md has no heading \`## ${version} - DATE\`: use --prepare.`]),
  ...(said('git', 'status', '--porcelain') === '' ? [] : ['The checkout is not clean.']),
  ...(said('git', 'tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)
    ? []
    : [`This commit has no tag v${version}.`]),
]
for (const problem of problems) console.error(`${isDry ? 'before a release' : 'refused'}: ${problem}`)
if (problems.length > 0 && !isDry) process.exit(1)

const charted = mkdtempSync(path.join(tmpdir(), 'pipespan-chart-'))
process.on('exit', () => rmSync(charted, { recursive: true, force: true }))
mkdirSync(out, { recursive: true })
const [metadata, sums] = [path.join(charted, 'image.json'), path.join(out, 'SHA256SUMS')]
const packed = path.join(out, `pipespan-${version}.tgz`)
const chart = path.join(out, `pipespan-chart-${version}.tgz`)
// A dry run also builds the files, because that changes nothing on other machines.
run('npm', ['run', '-s', 'build'])
run('npm', ['pack', '--silent', '--pack-destination', out])
run('node', ['scripts/artifacts.js', '--package', packed, '--out', out])
const hasHelm = spawnSync('helm', ['version'], { stdio: 'ignore' }).error === undefined
if (hasHelm) {
  run('helm', ['package', 'deploy/helm/pipespan', '--destination', charted])
  copyFileSync(path.join(charted, `pipespan-${version}.tgz`), chart)
} else if (isDry) {
  console.log(`would run: helm package deploy/helm/pipespan, into ${chart}`)
}
copyFileSync(fileOf('dist/sbom.cdx.json'), path.join(out, 'sbom.cdx.json'))
writeSums(out)

const steps = [
  ['npm', 'publish', packed, '--provenance', '--access', 'public'],
  // prettier-ignore
  ['docker', 'buildx', 'build', '--platform', 'linux/amd64,linux/arm64', '--provenance=mode=max', '--sbom=true',
    '--metadata-file', metadata, '--tag', `${image}:${version}`, '--push', '.'],
  ['helm', 'push', chart, charts],
  // The signature covers a digest and not a tag, because a tag could be moved.
  ['cosign', 'sign', '--yes', `${image}@DIGEST`],
  ['cosign', 'sign', '--yes', `${charts.slice('oci://'.length)}/pipespan@DIGEST`],
  ['cosign', 'sign-blob', '--yes', '--bundle', `${sums}.sigstore.json`, sums],
]
/** The digests of the published image and chart. */
const digests = {}
for (const [program, ...args] of steps) {
  const name = `${program} ${args[0]}`
  if (isDry && name !== 'npm publish') {
    console.log(`would run: ${program} ${args.join(' ')}`)
    continue
  }
  const whole = args.map(arg => arg.replace(/^(.*)@DIGEST$/, (_, of) => `${of}@${digests[of]}`))
  if (isDry) whole.push('--dry-run')
  console.log(`${program} ${whole.join(' ')}`)
  // Helm's output is captured because it contains the digest.
  const messages = name === 'helm push' ? 'pipe' : 'inherit'
  const { status, stderr } = spawnSync(program, whole, { stdio: ['ignore', 'inherit', messages], encoding: 'utf8' })
  process.stderr.write(stderr ?? '')
  if (status !== 0) {
    console.error(`${program} ended with ${status}: the remaining steps were not run.`)
    process.exit(1)
  }
  if (name === 'docker buildx') digests[image] = JSON.parse(readFileSync(metadata, 'utf8'))['containerimage.digest']
  if (name === 'helm push')
    digests[`${charts.slice('oci://'.length)}/pipespan`] = /sha256:[0-9a-f]{64}/.exec(stderr)?.[0]
}

/** Runs a program. If the program fails, the release is aborted. */
function run(program, args) {
  console.log(`${program} ${args.join(' ')}`)
  const { status } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status === 0) return
  console.error(`${program} ended with ${status}: the remaining steps were not run.`)
  process.exit(1)
}

function said(program, ...args) {
  return spawnSync(program, args, { encoding: 'utf8' }).stdout ?? ''
}
