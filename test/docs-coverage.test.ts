// docs/coverage.md: every system of the platform names the tests of what is done with it, or why there is none.
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const page = readFileSync('docs/coverage.md', 'utf8')
const rows = page
  .split('\n')
  .filter(line => line.startsWith('| '))
  .slice(1)
  .map(line => line.split(' | '))

it.each(rows.map(cells => [cells[0]?.slice(2) ?? '', ...cells.slice(1)]))(
  '%s has existing tests, or a reason why there are none',
  (_system, _does, why, proof = '') => {
    const files = [...proof.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file)
    if (files.length === 0) expect(proof).toMatch(/^none: /)
    expect(why).not.toBe('')
    expect(files.filter(file => !existsSync(file))).toEqual([])
  },
)

it('covers some two dozen systems', () => {
  expect(rows.length).toBeGreaterThan(20)
})
