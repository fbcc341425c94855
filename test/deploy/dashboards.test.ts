// Tests that the dashboards meet the requirements of Grafana's provisioning, and query only metrics that exist.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { dashboards, expressionsOf, files } from './grafana-dashboards.ts'
import { unknownIn } from './known-series.ts'

describe.each(dashboards)('%s', (name, dashboard) => {
  it('defines a dashboard that can be provisioned, with a fixed uid, data sources set by variables, and non-overlapping panels with fixed IDs', () => {
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

  it('uses only documented metrics and labels in the dashboard', () => {
    for (const expr of expressionsOf(dashboard)) expect(unknownIn(expr), expr).toEqual([])
  })

  const installed = spawnSync('promtool', ['--version']).error === undefined
  it.skipIf(!installed)('has valid PromQL in every panel of the dashboard', () => {
    const rules = expressionsOf(dashboard).map((expr, index) => ({ record: `rule${index}`, expr }))
    const temporary = temporaryFolder()
    const file = path.join(temporary, 'rules.json')
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    const { status, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  })
})

it('ships one dashboard for pipelines, one for deployments and one for the daemon', () => {
  expect(files.sort()).toEqual(['daemon.json', 'delivery.json', 'pipelines.json'])
})
