// Determines which packages have code in a bundle. It reads the list of bundled files, so there is no separate list that could be wrong.
import { readFileSync } from 'node:fs'
import path from 'node:path'

/** Returns each package once, sorted by name and version. `files` contains all files in a bundle. */
export function packagesOf(files) {
  const folders = new Set(
    files.flatMap(file => /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(file)?.[1] ?? []),
  )
  const found = new Map()
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    found.set(`${name} ${version}`, { name, version, license, folder })
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}
