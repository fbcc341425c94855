// Tests the levels of SARIF results. A result without a level inherits the level of its rule, wherever the rule is defined and however the result
// refers to it.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { levelsOf as levelsOfRun } from '../../../src/platform/reports/sarif.ts'
import { readFindings } from '../../../src/platform/reports/read-report.ts'
import { runs } from '../../full.ts'

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function levelsIn(text: string, size = 1_000) {
  const { report, fault } = await readFindings(inPieces(gzipSync(text), size), 'sarif')
  expect(fault).toBeUndefined()
  return Object.fromEntries((report?.findings ?? []).map(({ severity, count }) => [severity, count]))
}
const levelsOf = async (...all: readonly unknown[]) => levelsIn(JSON.stringify({ version: '2.1.0', runs: all }))

const rule = (id: string, level?: string, more: object = {}) => ({
  id,
  ...(level && { defaultConfiguration: { level } }),
  ...more,
})
const driver = { name: 'scanner', guid: 'd-1', rules: [rule('a', 'error'), rule('b', 'note'), rule('plain')] }
/** Returns the levels of these results. Their tool has the rules of `driver`. */
const ofResults = async (...results: readonly object[]) => levelsOf({ tool: { driver }, results })

describe('the level of a SARIF result', () => {
  it("uses the rule's level for a SARIF result without a level", async () => {
    const text = readFileSync('test/fixtures/reports/sarif-levels.json', 'utf8')
    for (const size of [1, 7, 1_000]) expect(await levelsIn(text, size)).toEqual({ error: 2, note: 1, warning: 1 })
    expect(await ofResults({ ruleId: 'a', level: null }, { ruleId: 'a', level: 'note' })).toEqual({ error: 1, note: 1 })
    expect(await ofResults({ ruleId: 'plain' }, { ruleId: 'none of these' }, {})).toEqual({ warning: 3 })
    expect(
      await levelsOf({
        tool: { driver: { name: 'x', rules: [rule('a', undefined, { defaultConfiguration: { level: null } })] } },
        results: [{ ruleId: 'a' }],
      }),
    ).toEqual({ warning: 1 })
  })

  it('finds the rule or tool of a SARIF result by a GUID in upper or lower case', async () => {
    const rules = [rule('a', 'error', { guid: 'AB-1' })]
    const all = (guid: string, tool: string) => ({
      tool: { driver, extensions: [{ name: 'more', guid: 'EF-2', rules }] },
      results: [{ rule: { guid, toolComponent: { guid: tool } } }],
    })
    expect(await levelsOf(all('ab-1', 'ef-2'), all('AB-1', 'EF-2'), all('Ab-1', 'Ef-2'))).toEqual({ error: 3 })
  })

  it("uses the rule's level for a SARIF result with an empty level", async () => {
    expect(await ofResults({ ruleId: 'a', level: '' })).toEqual({ error: 1 })
  })

  it('reads the level "none" for a SARIF result that is not a failure', async () => {
    const kinds = ['pass', 'open', 'review', 'informational', 'notApplicable'].map(kind => ({ kind, ruleId: 'a' }))
    expect(await ofResults(...kinds, { kind: 'fail', ruleId: 'a' }, { kind: null, ruleId: 'a' })).toEqual({
      none: 5,
      error: 2,
    })
  })

  it('finds the rule of a SARIF result by index, ID, GUID or a prefix of the ID', async () => {
    expect(await ofResults({ ruleIndex: 0 }, { ruleIndex: 1 }, { ruleIndex: -1, ruleId: 'b' })).toEqual({
      error: 1,
      note: 2,
    })
    expect(await ofResults({ ruleIndex: 99, ruleId: 'b' }, { rule: { id: 'b' } }, { rule: { index: 1 } })).toEqual({
      note: 3,
    })
    expect(await ofResults({ ruleId: 'a/b/c' }, { rule: { id: 'a/x' } }, { ruleId: 'ab/c' })).toEqual({
      error: 2,
      warning: 1,
    })
    const rules = [rule('a', 'error'), rule('a/b', 'note'), rule('same', 'none', { guid: 'g-3' })]
    expect(
      await levelsOf({
        tool: { driver: { rules } },
        results: [{ ruleId: 'a/b/c' }, { ruleId: 'a/c' }, { rule: { guid: 'g-3' } }],
      }),
    ).toEqual({ note: 1, error: 1, none: 1 })
  })

  it("finds a tool extension's rule that a SARIF result references by index, GUID or name", async () => {
    const extensions = [
      { name: 'queries', rules: [rule('x', 'note'), rule('a', 'none')] },
      { name: 'more', guid: 'e-2', rules: [rule('a', 'warning'), rule('x', 'error')] },
    ]
    const of = async (...results: readonly object[]) => levelsOf({ results, tool: { driver, extensions } })
    expect(await of({ ruleId: 'x', rule: { index: 1, toolComponent: { index: 1 } } })).toEqual({ error: 1 })
    expect(await of({ ruleIndex: 1, rule: { toolComponent: { index: 0 } } })).toEqual({ none: 1 })
    expect(await of({ ruleId: 'x', rule: { toolComponent: { guid: 'e-2' } } })).toEqual({ error: 1 })
    expect(await of({ ruleId: 'a/1', rule: { toolComponent: { name: 'queries', index: -1 } } })).toEqual({ none: 1 })
    expect(await of({ ruleId: 'a', rule: { toolComponent: { name: 'scanner' } } })).toEqual({ error: 1 })
    // A rule without a tool component belongs to the driver.
    expect(await of({ ruleId: 'x' }, { ruleId: 'a' })).toEqual({ warning: 1, error: 1 })
    expect(await of({ ruleId: 'a', rule: { toolComponent: { index: -1 } } })).toEqual({ error: 1 })
    expect(await of({ ruleId: 'a', rule: { toolComponent: { index: 9 } } })).toEqual({ warning: 1 })
  })

  it("uses the level by which a SARIF result's invocation overrides the rule's own level", async () => {
    const override = (level: string | null, descriptor: object) => ({ configuration: { level }, descriptor })
    const strict = { ruleConfigurationOverrides: [override('warning', { id: 'a' }), override('error', { index: 1 })] }
    const lax = { ruleConfigurationOverrides: [override('none', { id: 'a' }), override(null, { id: 'b' })] }
    const of = async (invocations: readonly object[], ...results: readonly object[]) =>
      levelsOf({ tool: { driver }, results, invocations })
    const by = (invocationIndex: number) => ({ provenance: { invocationIndex } })
    expect(await of([strict], { ruleId: 'a/1' }, { ruleIndex: 1 }, { ruleId: 'plain' })).toEqual({
      warning: 2,
      error: 1,
    })
    expect(
      await of([strict, lax], { ruleIndex: 0, ...by(0) }, { ruleId: 'a', ...by(1) }, { ruleId: 'b', ...by(1) }),
    ).toEqual({ warning: 1, none: 1, note: 1 })
    // The invocation of this result is unknown, so the rule's default level applies.
    expect(await of([strict, lax], { ruleId: 'a' })).toEqual({ error: 1 })
    const parts = { ruleConfigurationOverrides: [override('none', { id: 'a/b' })] }
    expect(await of([parts], { ruleId: 'a/b/c' }, { ruleId: 'a' })).toEqual({ none: 1, error: 1 })
  })

  it('never uses a level from another run in the SARIF file', async () => {
    const run = (level: string, ruleId = 'a') => ({
      results: [{ ruleId }],
      tool: { driver: { rules: [rule('a', level)] } },
    })
    expect(await levelsOf(run('note'), run('error'), run('none', 'b'), { results: [{ ruleId: 'a' }] })).toEqual({
      note: 1,
      error: 1,
      warning: 2,
    })
    const documents = [run('note'), run('error')].map(one => JSON.stringify({ runs: [one] }))
    expect(await levelsIn(documents.join('\n'))).toEqual({ note: 1, error: 1 })
  })

  it('finds the first tool component with a name or GUID, and prefers the GUID to the name', async () => {
    const tool = (level: string, more: object) => ({ ...more, rules: [rule('a', level)] })
    const extensions = [
      tool('note', { name: 'x' }),
      tool('none', { name: 'x', guid: 'G-1' }),
      tool('error', { guid: 'g-1' }),
    ]
    const of = async (toolComponent: object) =>
      levelsOf({ tool: { driver, extensions }, results: [{ ruleId: 'a', rule: { toolComponent } }] })
    expect(await of({ name: 'x' })).toEqual({ note: 1 })
    expect(await of({ name: 'x', guid: 'g-1' })).toEqual({ none: 1 })
    expect(await of({ name: 'x', guid: 'g-2' })).toEqual({ note: 1 })
    expect(await of({ name: 'y', guid: 'g-2' })).toEqual({ warning: 1 })
  })

  it('finds the tool component of each SARIF result among very many extensions in linear time', () => {
    const timeOf = (count: number): number => {
      const extensions = Array.from({ length: count }, () => ({}))
      const descriptor = { id: 'b', toolComponent: { index: count - 1 } }
      const invocations = [{ ruleConfigurationOverrides: [{ descriptor, configuration: { level: 'note' } }] }]
      const byName = { ruleId: 'a', rule: { toolComponent: { name: 'x' } } }
      const byIndex = { ruleId: 'a', rule: { toolComponent: { index: count - 1 } } }
      const results = Array.from({ length: count }, (_, nth) => (nth % 2 === 0 ? byName : byIndex))
      const begun = process.threadCpuUsage()
      levelsOfRun({ tool: { driver, extensions }, results, invocations })
      return process.threadCpuUsage(begun).user / 1_000
    }
    timeOf(4_000)
    // If each result searches all extensions, eight times the input takes 64 times as long. Below 100 ms the measurement is not meaningful.
    const [eighth, whole] = [timeOf(4_000), timeOf(32_000)]
    expect(whole < 100 || whole / eighth < 20, `${eighth} ms, then ${whole} ms`).toBe(true)
  })

  it('reads the same SARIF levels for any order of keys and any chunk size', async () => {
    const levels = ['none', 'note', 'warning', 'error'] as const
    const run = fc.record({
      rules: fc.array(fc.constantFrom(...levels), { maxLength: 4 }),
      results: fc.array(fc.nat(5), { maxLength: 20 }),
      isFirst: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(run, { maxLength: 4 }), fc.integer({ min: 1, max: 50 }), async (all, size) => {
        const expected: Record<string, number> = {}
        for (const { rules, results } of all) {
          for (const nth of results) expected[rules[nth] ?? 'warning'] = (expected[rules[nth] ?? 'warning'] ?? 0) + 1
        }
        const runsOf = all.map(({ rules, results, isFirst }) => {
          const tool = { driver: { rules: rules.map((level, nth) => rule(`r${nth}`, level)) } }
          const found = results.map(nth => (nth % 2 === 0 ? { ruleIndex: nth } : { ruleId: `r${nth}/part` }))
          return isFirst ? { tool, results: found } : { results: found, tool }
        })
        expect(await levelsIn(JSON.stringify({ runs: runsOf }), size)).toEqual(expected)
      }),
      runs(200),
    )
  })
})
