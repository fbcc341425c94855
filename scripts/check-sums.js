// Creates a folder's SHA256SUMS file, in the format of `sha256sum --check`.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Writes SHA256SUMS for all other files in the folder, sorted by name. */
export function writeSums(folder) {
  const files = readdirSync(folder).filter(name => !name.startsWith('SHA256SUMS'))
  const lines = files.toSorted().map(name => {
    const sum = createHash('sha256')
      .update(readFileSync(path.join(folder, name)))
      .digest('hex')
    return `${sum}  ${name}\n`
  })
  writeFileSync(path.join(folder, 'SHA256SUMS'), lines.join(''))
}
