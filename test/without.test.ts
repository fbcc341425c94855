// Tests what `scripts/without.js` deletes. `npm run test:slow` tests that the product works without each feature.
import { expect, it } from 'vitest'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { features } from '../src/features.ts'
// @ts-expect-error: a script has no declarations.
import { goingWith as untypedGoing, listWithout as untypedList } from '../scripts/without.js'

const goingWith = untypedGoing as (features: readonly { name: string; needs?: string[] }[], named: string[]) => string[]
const listWithout = untypedList as (text: string, gone: string[]) => string

it('removes a feature together with the features that depend on it, directly or indirectly', () => {
  const known = [{ name: 'a' }, { name: 'b', needs: ['a'] }, { name: 'c', needs: ['b'] }, { name: 'd' }]
  expect(goingWith(known, ['a'])).toEqual(['a', 'b', 'c'])
  expect(goingWith(known, ['c'])).toEqual(['c'])
})

it("deletes a removed feature's import and its entry in the list, and nothing else", () => {
  const text = `// The list.
import { audit } from './features/audit/feature.ts'
import { jobInsides } from './features/job-insides/feature.ts'
import type { Feature } from './daemon/feature.ts'

export const features: readonly Feature[] = [
  audit,
  jobInsides,
]
`
  expect(listWithout(text, ['job-insides'])).toBe(`// The list.
import { audit } from './features/audit/feature.ts'
import type { Feature } from './daemon/feature.ts'

export const features: readonly Feature[] = [audit]
`)
  expect(() => listWithout(text, ['trends'])).toThrow('does not import the feature trends')
})

/** The maximum time that one type check takes on a busy machine, ms. */
const checkTime = 300_000

it.runIf(process.env.PIPESPAN_TEST_PART === 'slow' || process.env.PIPESPAN_TEST_FULL === '1')(
  'type-checks the product without each feature, and passes the core tests without all features',
  async () => {
    const script = path.join(import.meta.dirname, '..', 'scripts', 'without.js')
    // The environment makes `scripts/without.js` run only the quick tests, which include the core tests. This test is not a quick test, so the script
    // does not run this test again.
    const env = { ...process.env, PIPESPAN_TEST_PART: 'quick', PIPESPAN_TEST_FULL: undefined }
    await promisify(execFile)(process.execPath, [script, '--each', '--test'], { maxBuffer: 2 ** 24, env })
  },
  (features.length + 1) * checkTime,
)
