// What the files of a folder hold, as tests look for secrets in them. A living daemon may erase a file between the look at its folder and the
// look at the file: what is erased holds nothing.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** All bytes of all files of a folder and of the folders within, but for one file, one after the other, a character for each byte. */
export function storedBytes(folder: string, except?: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter(file => file !== except)
    .map(file => unlessErased(() => readFileSync(file, 'latin1')) ?? '')
    .join('\n')
}

/** What a look at a file yields; undefined if there is none any more. */
export function unlessErased<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
