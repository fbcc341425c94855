// Tests that any configuration is either accepted or rejected with a report. Loading it never throws, and no report contains a secret.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { allOptions } from '../../src/daemon/configuration/options.ts'
import { describeFault } from '../../src/daemon/configuration/config-fault.ts'
import { costsOf } from '../../src/commands/config-check.ts'
import { describeConfig } from '../../src/daemon/configuration/reader.ts'
import { fuzzing } from './mutations.ts'
import { loadConfig } from '../../src/daemon/configuration/load.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { rowsOf, variablesOf } from '../../src/daemon/configuration/option.ts'
import { binaryText } from '../support/binary-text.ts'
import { features } from '../../src/features.ts'
import { nameOf, nodesIn, several, whole, withValue, yamlOf } from '../daemon/configuration/whole.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-fuzz-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = path.join(folder, 'pipespan.yaml')

const rows = rowsOf(allOptions(profiles, features)).filter(({ path: key }) => key !== 'config')
const variables = rows.flatMap(({ option }) => variablesOf(option, profiles.generic))
const secretVariables = new Set(
  rows.flatMap(({ option }) => (option.kind.secret ? variablesOf(option, profiles.generic) : [])),
)
const planted = 'planted-hunter2'
const value = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    '1e9',
    'NaN',
    'true',
    'null',
    '{}',
    '[]',
    '5s',
    '5 s',
    '99999999999999d',
    '::',
    'http://',
  ),
  fc.constantFrom(
    '9'.repeat(400),
    '%zz',
    'a=b,c',
    '=',
    ',,,',
    '../../etc',
    'https://u:p@h/',
    '\u0000',
    '\n',
    '`$(id)`',
  ),
  binaryText({ maxLength: 20 }),
)

it('accepts or rejects any environment variables without repeating a secret', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...variables), value, { maxKeys: 6 }), given => {
      const env = Object.fromEntries(
        Object.entries(given).map(([name, text]) => [name, secretVariables.has(name) ? `${planted}${text}` : text]),
      )
      const loaded = loadConfig({ env, profiles, features })
      const reported = loaded.ok ? JSON.stringify(loaded.config) : loaded.faults.map(describeFault).join('\n')
      expect(reported).not.toContain(planted)
      if (!loaded.ok) expect(reported).toMatch(/\S/)
    }),
    fuzzing(500),
  )
})

it('accepts any YAML, or rejects it and reports the position of the error', () => {
  const keys = rows.map(({ path: key }) => key.replaceAll('[]', '').split('.'))
  const leaf = fc.oneof(value, fc.jsonValue({ maxDepth: 2 }))
  const tree = fc.array(fc.tuple(fc.constantFrom(...keys), leaf), { maxLength: 5 }).map(leaves => {
    const whole: Record<string, unknown> = {}
    for (const [steps, inner] of leaves) {
      let at = whole
      for (const key of steps.slice(0, -1)) {
        const next = at[key]
        at = at[key] = (typeof next === 'object' && next !== null ? next : {}) as Record<string, unknown>
      }
      at[steps.at(-1) ?? ''] = inner
    }
    return JSON.stringify(whole)
  })
  fc.assert(
    fc.property(fc.oneof(tree, binaryText(), fc.string()), yaml => {
      writeFileSync(file, yaml)
      const loaded = loadConfig({ env: {}, file, profiles, features })
      if (loaded.ok) return
      expect(loaded.faults.length).toBeGreaterThan(0)
      for (const fault of loaded.faults) expect(describeFault(fault)).toMatch(/\S/)
    }),
    fuzzing(300),
  )
})

/** Values whose shape is wrong for nearly every setting. */
const wrongShapes: readonly unknown[] = [
  null,
  5,
  true,
  'text',
  '',
  [],
  [1],
  [[]],
  [{}],
  [null],
  {},
  { a: 1 },
  { a: {} },
  { a: { b: [{}] } },
  { label: 'x' },
  { '': null },
]

const nodes = [whole, several].flatMap(tree => nodesIn(tree).map(node => ({ tree, ...node })))

it('reports a position and a remedy for a wrongly shaped value of any setting, even if all other settings are present too', () => {
  const wrong = fc.record({
    at: fc.constantFrom(...nodes),
    shape: fc.oneof(fc.constantFrom(...wrongShapes), fc.jsonValue({ maxDepth: 3 })),
  })
  fc.assert(
    fc.property(wrong, ({ at: { tree, ...node }, shape }) => reports(withValue(tree, node.steps, shape), nameOf(node))),
    fuzzing(1_500),
  )
})

it.each(
  nodesIn(whole).flatMap(node =>
    /^attributes\.rules\[0\]|^destinations\[0\]\.headers/.test(nameOf(node)) ? [[nameOf(node), node] as const] : [],
  ),
)(
  'reports a position and a remedy for every wrongly shaped value of %s in a configuration whose header template uses an attribute rule',
  (name, node) => {
    for (const shape of wrongShapes) reports(withValue(whole, node.steps, shape), name)
  },
)

function reports(tree: unknown, name: string): void {
  const loaded = loadConfig({ env: {}, file: 'pipespan.yaml', text: yamlOf(tree), profiles, features })
  if (loaded.ok) {
    // `config check --show` prints these lines.
    expect([describeConfig(loaded), ...costsOf(loaded.config)].join('\n')).not.toContain('undefined')
    return
  }
  expect([name, loaded.faults.length]).not.toEqual([name, 0])
  for (const fault of loaded.faults) {
    expect(describeFault(fault)).toMatch(/^pipespan\.yaml:\d+:\d+: |^[a-z]/)
    expect(fault.remedy).toMatch(/\S/)
  }
}
