import { expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { markdown, readResults } from '../../bench/results.ts'
import { sectionOf } from '../../bench/section.ts'

const page = path.join(import.meta.dirname, '../../docs/performance.md')

it('shows the figures of bench/results.json in docs/performance.md (npm run bench -- --record writes both)', () => {
  expect(sectionOf(readFileSync(page, 'utf8'))).toBe(markdown(readResults()))
})
