// Collects the licences of the bundled packages, with the licence texts that the packages contain.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Returns one section for each package. `packages` is the result of `packagesOf`. */
export function licencesOf(packages) {
  const sections = packages.map(({ name, version, license, folder }) => {
    const texts = readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isFile() && /^(licen[cs]e|copying|notice)/i.test(entry.name))
      .map(({ name: file }) => readFileSync(path.join(folder, file), 'utf8').trim())
    return [`${name} ${version}: ${license}`, ...texts].join('\n\n')
  })
  return `This folder contains code from the packages below.\n\n${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
