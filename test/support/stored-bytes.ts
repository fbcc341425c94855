// Reads the files of a folder, so that tests can search them for secrets. A running daemon may delete a file after the folder was listed and before
// the file is read. Such a file counts as empty.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Returns the concatenated bytes of all files in a folder and its subfolders, except for one file. Each byte becomes one character. */
export function storedBytes(folder: string, except?: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter(file => file !== except)
    .map(file => unlessErased(() => readFileSync(file, 'latin1')) ?? '')
    .join('\n')
}

/** Returns the result of `look`, which reads a file. Undefined if the file no longer exists. */
export function unlessErased<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
