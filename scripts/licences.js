// The licences of the packages that are bundled: their texts as the packages bring them.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** `files`: all that went into a bundle. One section for each package among them, by name. */
export function licencesOf(files) {
  const folders = new Set(
    files.flatMap(file => /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(file)?.[1] ?? []),
  )
  const sections = [...folders].map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    const texts = readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isFile() && /^(licen[cs]e|copying|notice)/i.test(entry.name))
      .map(({ name: file }) => readFileSync(path.join(folder, file), 'utf8').trim())
    return [`${name} ${version}: ${license}`, ...texts].join('\n\n')
  })
  return `This folder holds code of the packages below.\n\n${sections.sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
