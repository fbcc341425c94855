// The main file of this program, for commands that start the daemon as a process of its own.
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** main.ts beside src/cli, main.js beside dist/cli. */
export function ownMain(): string {
  return fileURLToPath(new URL(`../main${path.extname(import.meta.url)}`, import.meta.url))
}
