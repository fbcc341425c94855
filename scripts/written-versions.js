// Finds the places besides package.json that contain Pipespan's version: manifests, commands in the documentation, and the Dockerfile's label. The
// places are found by patterns, so that a new place is not missed.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const number = String.raw`\d+\.\d+\.\d+(?:-[\w.]+)?`
/** The patterns of the text that precedes a version of Pipespan. */
const forms = [
  // Matches pipespan:1.2.3, pipespan-1.2.3.tgz, pipespan-chart-1.2.3.tgz and pipespan_1.2.3_amd64.deb.
  new RegExp(String.raw`(\bpipespan(?:-chart)?[:_-])(${number})(?=\.tgz|-linux|_(?:amd|arm)64|[^\w.-]|\.?$)`, 'gm'),
  new RegExp(String.raw`(image\.version=")(${number})(?=")`, 'g'),
]
/** In these files, only the given pattern is searched for. */
const own = {
  'deploy/helm/pipespan/Chart.yaml': new RegExp(String.raw`^((?:app)?[vV]ersion: )(${number})$`, 'gm'),
  'deploy/kubernetes/image/kustomization.yaml': new RegExp(String.raw`(newTag: )(${number})$`, 'gm'),
}

function files() {
  const found = ['deploy', 'docs'].flatMap(folder =>
    readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true }),
  )
  const paths = found.flatMap(one => (one.isFile() ? [path.relative(root, path.join(one.parentPath, one.name))] : []))
  return ['Dockerfile', 'README.md', ...paths.filter(file => !/\.(png|json)$|^docs\/decisions\//.test(file))]
}

function patternsOf(file) {
  return own[file] === undefined ? forms : [own[file]]
}

/** Returns each place that contains a version: `{ file, version }`. */
export function writtenVersions() {
  return files().flatMap(file => {
    const text = readFileSync(path.join(root, file), 'utf8')
    return patternsOf(file).flatMap(form => [...text.matchAll(form)].map(([, , version]) => ({ file, version })))
  })
}

/** Writes this version to all places, and to package.json and its lock file. */
export function writeVersion(version) {
  for (const file of files()) {
    const at = path.join(root, file)
    const before = readFileSync(at, 'utf8')
    const after = patternsOf(file).reduce((text, form) => text.replaceAll(form, `$1${version}`), before)
    if (after !== before) writeFileSync(at, after)
  }
  for (const file of ['package.json', 'package-lock.json']) {
    const at = path.join(root, file)
    const content = JSON.parse(readFileSync(at, 'utf8'))
    content.version = version
    if (content.packages !== undefined) content.packages[''].version = version
    writeFileSync(at, `${JSON.stringify(content, undefined, 2)}\n`)
  }
}
