import { expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { markdown, readResults } from '../../bench/results.ts'
import { sectionOf } from '../../bench/section.ts'

const page = path.join(import.meta.dirname, '../../docs/performance.md')

it('docs/performance.md shows the figures of bench/results.json (npm run bench -- --record writes both)', () => {
  expect(sectionOf(readFileSync(page, 'utf8'))).toBe(markdown(readResults()))
})
