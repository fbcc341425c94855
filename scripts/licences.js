// The licences of the packages that are bundled: their texts as the packages bring them.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** One section for each of them; `packages` as `packagesOf` answers them. */
export function licencesOf(packages) {
  const sections = packages.map(({ name, version, license, folder }) => {
    const texts = readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isFile() && /^(licen[cs]e|copying|notice)/i.test(entry.name))
      .map(({ name: file }) => readFileSync(path.join(folder, file), 'utf8').trim())
    return [`${name} ${version}: ${license}`, ...texts].join('\n\n')
  })
  return `This folder holds code of the packages below.\n\n${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
