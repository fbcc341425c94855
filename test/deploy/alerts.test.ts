// Tests the alert rules. Each alert is fired by its test case and never for a healthy daemon, queries metrics that exist, and names a remedy.
import { readFileSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { parse, stringify } from 'yaml'
import { hasTool, repository } from './tool.ts'
import { isFull } from '../full.ts'
import { knownVariables } from './known-variables.ts'
import { unknownIn } from './known-series.ts'

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly labels: { readonly severity: string }
      readonly annotations: { readonly summary: string; readonly description: string; readonly runbook: string }
    }[]
  }[]
}

interface Stories {
  readonly tests: readonly {
    readonly alert_rule_test?: readonly { readonly alertname: string; readonly exp_alerts: readonly unknown[] }[]
    readonly promql_expr_test?: readonly { readonly exp_samples: readonly { readonly labels: string }[] }[]
  }[]
}

const folder = path.join(repository, 'deploy/prometheus')
const text = readFileSync(path.join(folder, 'alerts.yml'), 'utf8')
const stories = readFileSync(path.join(folder, 'alerts.test.yml'), 'utf8')
const rules = (parse(text) as Rules).groups.flatMap(group => group.rules)

/** Names of the alerts that at least one test case expects to fire. */
const expected = (parse(stories) as Stories).tests.flatMap(({ alert_rule_test = [], promql_expr_test = [] }) => [
  ...alert_rule_test.flatMap(({ alertname, exp_alerts }) => (exp_alerts.length > 0 ? [alertname] : [])),
  ...promql_expr_test.flatMap(({ exp_samples }) =>
    exp_samples.flatMap(({ labels }) => /alertname="(\w+)".*alertstate="firing"/.exec(labels)?.[1] ?? []),
  ),
])

/** Returns promtool's output for these rules and all test cases. */
function reported(alerts: string): { status: number | null; output: string } {
  const temporary = temporaryFolder()
  writeFileSync(path.join(temporary, 'alerts.yml'), alerts)
  const file = path.join(temporary, 'alerts.test.yml')
  writeFileSync(file, stories)
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
  return { status, output: `${stdout}${stderr}` }
}

/** Returns the rules with a different expression for one alert. */
function withExpression(alert: string, expr: string): string {
  const { groups } = parse(text) as Rules
  const changed = groups.map(group => ({
    ...group,
    rules: group.rules.map(rule => (rule.alert === alert ? { ...rule, expr } : rule)),
  }))
  return stringify({ groups: changed })
}

describe('the alert rules', () => {
  it('uses only documented metrics and labels in the alert rules', () => {
    expect(unknownIn('pipespan_inbox_quarantiend > 0')).toEqual(['pipespan_inbox_quarantiend'])
    for (const { alert, expr } of rules) expect(unknownIn(expr), alert).toEqual([])
  })

  it('gives each alert a unique name, a severity, and a remedy that mentions only existing settings', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Pipespan[A-Z]\w+$/)
      expect(labels.severity, alert).toMatch(/^(warning|critical)$/)
      expect(annotations.summary, alert).toMatch(/[^.]$/)
      expect(annotations.description, alert).toMatch(/\.$/)
      for (const name of annotations.description.match(/PIPESPAN_\w+/g) ?? []) expect(knownVariables()).toContain(name)
    }
  })

  it('links each alert to its own section of the runbook', () => {
    const page = readFileSync(path.join(repository, 'docs/runbook.md'), 'utf8')
    const sections = [...page.matchAll(/^## (Pipespan\w+)$/gm)].map(([, name]) => name)
    expect(sections.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
    for (const { alert, annotations } of rules)
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
  })

  const promtool = hasTool('promtool', ['--version'], 'the alert rules')
  it.skipIf(!promtool)('fires each alert in its test case, and none for a healthy daemon', () => {
    expect(reported(text)).toMatchObject({ status: 0 })
  })

  it.each(rules)('has a test case that expects $alert to fire', ({ alert }) => {
    expect(expected).toContain(alert)
  })

  it.skipIf(!promtool || !isFull).each(rules)(
    'has test cases that detect if $alert never fires or always fires',
    ({ alert }) => {
      expect(reported(withExpression(alert, 'vector(1) > 2')).status).toBe(1)
      expect(reported(withExpression(alert, 'vector(1)')).status).toBe(1)
    },
  )
})
