// The dashboards hold what Grafana's provisioning needs, and ask for nothing that is not measured.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { unknownIn } from './known-series.ts'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: { readonly uid: string }
  readonly targets?: readonly { readonly expr?: string; readonly datasource: { readonly uid: string } }[]
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly definition?: string; readonly query: unknown }[]
  }
  readonly annotations: { readonly list: readonly { readonly expr: string }[] }
  readonly panels: readonly Panel[]
}

const folder = path.join(import.meta.dirname, '..', '..', 'deploy', 'grafana')
const files = readdirSync(folder).filter(name => name.endsWith('.json'))
const dashboards = files.map(
  name => [name, JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Dashboard] as const,
)

/** Grafana's own words replaced by what PromQL can read. */
function promqlOf(expr: string): string {
  return expr
    .replaceAll('$__rate_interval', '5m')
    .replaceAll('$__range_s', '3600')
    .replaceAll('$__range', '1h')
    .replaceAll(/\$\w+/g, '.*')
}

function expressionsOf({ panels, templating, annotations }: Dashboard): string[] {
  const queries = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => expr ?? []))
  const variables = templating.list.flatMap(
    ({ definition = '' }) => /^label_values\((\w+|\{.*\}), (\w+)\)$/.exec(definition)?.[1] ?? [],
  )
  return [...queries, ...variables, ...annotations.list.map(({ expr }) => expr)].map(promqlOf)
}

describe.each(dashboards)('%s', (name, dashboard) => {
  it('can be provisioned: a fixed uid, data sources by variable, and panels with fixed ids that do not overlap', () => {
    expect(dashboard.uid).toBe(`pipespan-${name.replace('.json', '')}`)
    expect(dashboard.schemaVersion).toBeGreaterThan(30)
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
    const variables = dashboard.templating.list.map(({ name }) => `\${${name}}`)
    const cells = new Set<string>()
    for (const { type, title, description, gridPos, datasource, targets = [] } of dashboard.panels) {
      const { x, y, w, h } = gridPos
      expect(x + w, title).toBeLessThanOrEqual(24)
      for (let column = x; column < x + w; column += 1) {
        for (let line = y; line < y + h; line += 1) {
          expect(cells.has(`${column} ${line}`), `${title} overlaps`).toBe(false)
          cells.add(`${column} ${line}`)
        }
      }
      if (type === 'row') continue
      expect(description, title).toMatch(/\.$/)
      expect(targets.length, title).toBeGreaterThan(0)
      for (const { uid } of [datasource!, ...targets.map(target => target.datasource)]) expect(variables).toContain(uid)
    }
  })

  it('uses only metrics and labels of the tables', () => {
    for (const expr of expressionsOf(dashboard)) expect(unknownIn(expr), expr).toEqual([])
  })

  const installed = spawnSync('promtool', ['--version']).error === undefined
  it.skipIf(!installed)('has valid PromQL', () => {
    const rules = expressionsOf(dashboard).map((expr, index) => ({ record: `rule${index}`, expr }))
    const temporary = mkdtempSync(path.join(tmpdir(), 'pipespan-dashboards-'))
    onTestFinished(() => rmSync(temporary, { recursive: true }))
    const file = path.join(temporary, 'rules.json')
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    const { status, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  })
})

it('there is a dashboard for pipelines, one for deployments and one for the daemon', () => {
  expect(files.sort()).toEqual(['daemon.json', 'delivery.json', 'pipelines.json'])
})
