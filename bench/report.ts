// Writes the results in bench/results.json to docs/performance.md as a table.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { markdown, readResults } from './results.ts'
import { withSection } from './section.ts'

const page = path.join(import.meta.dirname, '..', 'docs', 'performance.md')

/** Writes the recorded answers to the results section of docs/performance.md. */
export function reportResults(): void {
  writeFileSync(page, withSection(readFileSync(page, 'utf8'), markdown(readResults())))
}
