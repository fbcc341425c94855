// Queries the registry for security advisories. The script fails (exit code 1) if a shipped package has an advisory of high or critical severity. The
// shipped packages are read from the last build's bill of materials. Not every mirror provides advisories. If they are missing,
// the audit does not count as passed: the script reports this and exits with code 3.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const read = name => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))
const shipped = new Set(read('dist/sbom.cdx.json').components.map(({ purl }) => purl))
const { packages } = read('package-lock.json')

/** Whether the package at this path in the audit report is in the bundle. */
function ships(place) {
  const { version } = packages[place] ?? {}
  const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
  return shipped.has(`pkg:npm/${name.replace('@', '%40')}@${version}`)
}

function answerOf(text) {
  try {
    const answer = JSON.parse(text)
    return answer.auditReportVersion === 2 ? answer : undefined
  } catch {
    return undefined
  }
}

const { stdout } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8', shell: process.platform === 'win32' })
const answer = answerOf(stdout)
if (answer === undefined) {
  process.stderr.write(
    'NOT AUDITED: the registry returned no advisories, so nothing is known about vulnerabilities in dependencies.\n' +
      'Run the script with a registry that provides advisories: npm_config_registry=https://registry.npmjs.org node scripts/audit.js\n',
  )
  process.exitCode = 3
} else {
  const advisories = Object.values(answer.vulnerabilities).map(({ name, severity, nodes = [] }) => ({
    line: `${severity}: ${name}${nodes.some(ships) ? ', shipped' : ', for development only'}`,
    fails: ['high', 'critical'].includes(severity) && nodes.some(ships),
  }))
  for (const { line } of advisories) process.stdout.write(`${line}\n`)
  const failing = advisories.filter(({ fails }) => fails).length
  process.stdout.write(
    `${shipped.size} shipped packages: ${failing === 0 ? 'no' : failing} advisories of high or critical severity.\n`,
  )
  process.exitCode = failing === 0 ? 0 : 1
}
