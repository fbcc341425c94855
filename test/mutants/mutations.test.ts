// Tests which mutations `npm run mutants` applies to the code.
import { expect, it } from 'vitest'
import { mutantsOf, mutated } from '../../scripts/mutants/mutations.ts'

function changesOf(text: string): string[] {
  return mutantsOf('file.ts', text).map(({ change }) => change)
}

it('mutates a comparison by shifting its boundary and by reversing it', () => {
  expect(changesOf('const isLate = age > limit')).toEqual(['> → >=', '> → <='])
})

it('mutates code by negating conditions, dropping fallbacks, and removing calls', () => {
  expect(changesOf('if (isLate) close(name ?? "none")')).toEqual([
    'isLate → !(isLate)',
    'close(name ?? "none") → ;',
    'name ?? "none" → (name)!',
  ])
})

it('mutates the conditions of SQL statements', () => {
  expect(changesOf('sql`DELETE FROM runs WHERE due < ? AND ended IS NULL`')).toEqual([
    '< → <=',
    'AND → OR',
    'IS NULL → IS NOT NULL',
  ])
})

it('does not mutate comments, imports, types, log calls or error messages', () => {
  const text = `
    // Greater > than 3.
    import { level } from './level-3.ts'
    interface Level { readonly value: 3 }
    log.warn({ tries: 3 }, 'tried')
    throw new ConfigError(\`It is \${3 + level}.\`, 'Choose another.')`
  expect(changesOf(text)).toEqual([])
})

it('generates mutants that differ from the code by a single edit', () => {
  const [first] = mutantsOf('file.ts', 'a === b && c')
  expect(mutated('a === b && c', first!)).toBe('a !== b && c')
})
