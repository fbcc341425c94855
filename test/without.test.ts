// What `scripts/without.js` deletes; that the product stands without each feature is tried by `npm run test:slow`.
import { expect, it } from 'vitest'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { features } from '../src/features.ts'
// @ts-expect-error: a script has no declarations.
import { goingWith as untypedGoing, listWithout as untypedList } from '../scripts/without.js'

const goingWith = untypedGoing as (features: readonly { name: string; needs?: string[] }[], named: string[]) => string[]
const listWithout = untypedList as (text: string, gone: string[]) => string

it('a feature takes along those that need it, also through others', () => {
  const known = [{ name: 'a' }, { name: 'b', needs: ['a'] }, { name: 'c', needs: ['b'] }, { name: 'd' }]
  expect(goingWith(known, ['a'])).toEqual(['a', 'b', 'c'])
  expect(goingWith(known, ['c'])).toEqual(['c'])
})

it('the list loses imports and entries, and nothing else', () => {
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

/** One type check, on a machine with other work, ms. */
const checkTime = 300_000

it.runIf(process.env.PIPESPAN_TEST_PART === 'slow' || process.env.PIPESPAN_TEST_FULL === '1')(
  'type-checks without each feature; without all of them the tests of the core pass, too',
  async () => {
    const script = path.join(import.meta.dirname, '..', 'scripts', 'without.js')
    // The quick ones: this is one of the slow tests, and those of the core are among the others.
    const env = { ...process.env, PIPESPAN_TEST_PART: 'quick', PIPESPAN_TEST_FULL: undefined }
    await promisify(execFile)(process.execPath, [script, '--each', '--test'], { maxBuffer: 2 ** 24, env })
  },
  (features.length + 1) * checkTime,
)
