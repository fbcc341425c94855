// Writes the table of bench/results.json into docs/performance.md.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { markdown, readResults } from './results.ts'
import { withSection } from './section.ts'

const page = path.join(import.meta.dirname, '..', 'docs', 'performance.md')

/** The answers that are recorded, as the page's section of results. */
export function reportResults(): void {
  writeFileSync(page, withSection(readFileSync(page, 'utf8'), markdown(readResults())))
}
