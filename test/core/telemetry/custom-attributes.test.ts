// Tests the attributes that the operator's rules set: where they appear, and which rule wins.
import { describe, expect, it } from 'vitest'
import { decodeLogs, decodeMetrics } from '../../support/otlp-decode.ts'
import { encodeLogs, encodeMetrics } from '../../../src/core/telemetry/encode.ts'
import { eventChunk, type PlatformEvent } from '../../../src/model/event.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { plainAttributes } from '../../../src/core/telemetry/otlp/attribute.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { activeData, projectResource } from '../../../src/core/telemetry/metrics/cumulative.ts'
import { gaugesData } from '../../../src/core/telemetry/metrics/gauges.ts'
import { readableSpans } from './sdk.ts'
import {
  telemetrySettings,
  type TelemetryOptions,
  type TelemetrySettings,
} from '../../../src/core/telemetry/settings.ts'
import { stories } from './stories.ts'
import { literalOf, type AttributeSetter } from '../../../src/core/telemetry/custom-attributes.ts'

const [chunk] = stories.success!
const deployment: PlatformEvent = {
  ...{ instance: 'https://git.example.com', kind: 'deployment', name: 'platform.deployment', severity: 'info' },
  ...{ body: 'Deployment success: production', attributes: { 'deployment.id': '15' }, object: 'o', content: 'c' },
  project: chunk!.project,
}

function rule(set: AttributeSetter['set'], conditions: Partial<AttributeSetter> = {}): AttributeSetter {
  return { projects: {}, sources: {}, jobs: {}, metrics: false, ...conditions, set }
}

function settingsOf(rules: readonly AttributeSetter[], options: TelemetryOptions = {}): TelemetrySettings {
  return telemetrySettings({ profiles, attributeRules: rules, ...options })
}

/** Returns the `team` attribute of each span, by span name, and of the resource. */
function teams(settings: TelemetrySettings, of = chunk!): Record<string, unknown> {
  const spans = readableSpans(of, settings)
  const own = spans.map(({ name, attributes }) => [name, attributes.team] as const)
  return { ...Object.fromEntries<unknown>(own), resource: spans[0]!.resource.attributes.team }
}

describe('an attribute rule', () => {
  it("sets a rule's attributes on the resource, on all spans and on all log records of a pipeline", () => {
    const settings = settingsOf([rule({ team: 'payments' })])
    expect(new Set(Object.values(teams(settings)))).toEqual(new Set(['payments']))
    const records = decodeLogs(encodeLogs([chunk!], settings))
    expect(records.length).toBeGreaterThan(2)
    for (const { attributes, resource } of records) {
      expect([attributes.team, resource.attributes.team]).toEqual(['payments', 'payments'])
    }
  })

  it("sets a rule's attributes on events of the project, unless the rule needs a branch or a source", () => {
    const event = eventChunk(deployment, 5, 'generic')
    const setOf = (conditions: Partial<AttributeSetter>): unknown[] => {
      const [record] = decodeLogs(encodeLogs([event], settingsOf([rule({ team: 'payments' }, conditions)])))
      return [record!.attributes.team, record!.resource.attributes.team]
    }
    expect(setOf({ projects: { include: ['shop/**'] } })).toEqual(['payments', 'payments'])
    expect(setOf({ projects: { include: ['team/**'] } })).toEqual([undefined, undefined])
    expect(setOf({ branches: ['default'] })).toEqual([undefined, undefined])
    expect(setOf({ sources: { exclude: ['schedule'] } })).toEqual([undefined, undefined])
    // Change events are about a merge request.
    const change = eventChunk({ ...deployment, kind: 'change', name: 'platform.vcs.change' }, 5, 'generic')
    const ruled = settingsOf([rule({ team: 'payments' }, { branches: ['merge_request'] })])
    expect(decodeLogs(encodeLogs([change], ruled))[0]!.attributes.team).toBe('payments')
  })

  it('sets the attributes of a job rule only on the spans and records of the matching jobs', () => {
    const settings = settingsOf([
      rule({ team: 'payments' }),
      rule({ team: 'qa' }, { jobs: { include: ['{unit,lint}'] } }),
    ])
    expect(teams(settings)).toMatchObject({
      ...{ 'job: unit': 'qa', 'job: lint': 'qa', 'job: compile': 'payments' },
      ...{ 'pipeline: Build and deploy': 'payments', resource: 'payments' },
    })
  })

  it('matches a rule only if its project, ref class and source all match', () => {
    const { facts } = chunk!.pipeline
    expect([chunk!.project.path, facts.source, facts.ref]).toEqual(['shop/backend/checkout', 'push', 'main'])
    const matches = (conditions: Partial<AttributeSetter>): boolean =>
      teams(settingsOf([rule({ team: 'payments' }, conditions)])).resource !== undefined
    expect(matches({ projects: { include: ['shop/**'] }, branches: ['tag', 'default'] })).toBe(true)
    expect(matches({ projects: { include: ['shop/**'], exclude: ['**/checkout'] } })).toBe(false)
    expect(matches({ projects: { include: ['shop/*'] } })).toBe(false)
    expect(matches({ branches: ['merge_request', 'other', 'tag'] })).toBe(false)
    expect(matches({ sources: { include: ['pu*'] } })).toBe(true)
    expect(matches({ sources: { exclude: ['push'] }, projects: { include: ['shop/**'] } })).toBe(false)
  })
})

describe('several attribute rules', () => {
  it('applies all matching rules, of which the last overrides earlier ones and configured resource attributes', () => {
    const resourceAttributes = { team: 'nobody', region: 'eu' }
    const rules = [rule({ team: 'shop', tier: '2' }), rule({ team: 'payments' })]
    const [span] = readableSpans(chunk!, settingsOf(rules, { resourceAttributes }))
    expect(span!.resource.attributes).toMatchObject({ team: 'payments', tier: '2', region: 'eu' })
    expect(span!.attributes).toMatchObject({ team: 'payments', tier: '2' })
  })

  it('applies the attribute policy to attributes that rules set', () => {
    const rules = [rule({ team: 'payments', tier: '1', note: 'abcdef' }, { metrics: true })]
    const settings = settingsOf(rules, { drop: ['tier'], valueLengthLimit: 3 })
    const [span] = readableSpans(chunk!, settings)
    for (const attributes of [span!.attributes, span!.resource.attributes]) {
      expect([attributes.team, attributes.tier, attributes.note]).toEqual(['pay', undefined, 'abc'])
    }
    expect(settings.custom!(chunk!).points).toEqual({ team: 'pay', note: 'abc' })
  })
})

describe('a value from a label', () => {
  const rules = [
    rule({ team: 'nobody' }, { metrics: true }),
    rule({ team: { label: 'team::' }, kind: { label: 'kind::' } }, { metrics: true }),
  ]
  const labelled = (labels: readonly string[] | undefined) => ({
    ...chunk!,
    pipeline: { ...chunk!.pipeline, facts: { ...chunk!.pipeline.facts, labels } },
  })

  it('takes a value from the part of a label after the given prefix, or from an earlier rule if no label has the prefix', () => {
    const settings = settingsOf(rules)
    const [span] = readableSpans(labelled(['kind::fix', 'team::payments']), settings)
    for (const attributes of [span!.attributes, span!.resource.attributes]) {
      expect([attributes.team, attributes.kind]).toEqual(['payments', 'fix'])
    }
    for (const labels of [['team:: ', 'team'], [], undefined]) {
      const { values, points } = settings.custom!(labelled(labels))
      expect([values, points]).toEqual([{ team: 'nobody' }, { team: 'nobody' }])
    }
    // A pipeline with another label gets another value.
    expect(settings.custom!(labelled(['team::search'])).points).toEqual({ team: 'search' })
  })

  it('sets a value from a label on events of the merge request', () => {
    const event = eventChunk({ ...deployment, labels: ['team::payments'] }, 5, 'generic')
    const [record] = decodeLogs(encodeLogs([event], settingsOf(rules)))
    expect([record!.attributes.team, record!.resource.attributes.team]).toEqual(['payments', 'payments'])
  })
})

it('takes a value from a pipeline variable if the variable is known', () => {
  const settings = settingsOf([rule({ team: { variable: 'TEAM' }, tier: { variable: 'toString' } })])
  const withVariables = (variables: Record<string, string> | undefined) => ({
    ...chunk!,
    pipeline: { ...chunk!.pipeline, facts: { ...chunk!.pipeline.facts, variables } },
  })
  expect(settings.custom!(withVariables({ TEAM: 'payments' })).values).toEqual({ team: 'payments' })
  expect(teams(settings, withVariables({ TEAM: 'payments' })).resource).toBe('payments')
  for (const variables of [{ TEAM: ' ' }, {}, undefined]) {
    expect(settings.custom!(withVariables(variables)).values).toEqual({})
  }
})

describe('metrics with the attributes of rules', () => {
  const settings = settingsOf([rule({ team: 'payments' }, { metrics: true }), rule({ tier: '1' })])

  it('sets the attributes of rules with `metrics` on every data point, but no attributes of other rules', () => {
    const points = decodeMetrics(encodeMetrics([chunk!], settings)).flatMap(metric => [...metric.points])
    expect(points.length).toBeGreaterThan(10)
    for (const { attributes } of points) expect([attributes.team, attributes.tier]).toEqual(['payments', undefined])
  })

  it('keeps separate series in the totals for metrics with rule attributes', () => {
    const seriesOf = (given: TelemetrySettings): string[] =>
      measure(chunk!, given)!.increments.map(({ metric, attributes }) => `${metric} ${attributes}`)
    const [without, ruled] = [seriesOf(telemetrySettings({ profiles })), seriesOf(settings)]
    expect(ruled).toHaveLength(without.length)
    expect(ruled.filter(series => without.includes(series))).toEqual([])
    expect(ruled.every(series => series.includes('"team":"payments"'))).toBe(true)
  })

  describe('metrics that belong to no pipeline', () => {
    const key = { instance: 'https://git.example.com', projectId: 42 }
    const owner = { key, project: chunk!.project, profile: 'generic' }
    const job = { key, project: chunk!.project, state: 'pending', tagSet: 'arm', count: 1, oldest: 1 } as const
    const ruled = settingsOf(
      [
        rule({ team: 'shop', tier: '1' }, { projects: { include: ['shop/**'] }, metrics: true }),
        rule({ team: { label: 'team::' } }, { metrics: true }),
        rule({ lane: 'review' }, { branches: ['merge_request'], metrics: true }),
        rule({ tier: '2' }, { branches: ['default'], metrics: true }),
        rule({ tier: '3' }, { sources: { exclude: ['schedule'] }, metrics: true }),
        rule({ tier: '4' }, { jobs: { include: ['*'] }, metrics: true }),
        rule({ tier: '5' }),
        rule({ note: 'abcdef' }, { metrics: true }),
      ],
      { valueLengthLimit: 4 },
    )
    const set = (metrics: readonly { readonly points: readonly { readonly attributes: object }[] }[]): unknown[] =>
      metrics.flatMap(({ points }) =>
        points.map(({ attributes }) => {
          const { team, tier, lane, note } = attributes as Record<string, unknown>
          return { team, tier, lane, note }
        }),
      )

    it('sets the attributes of rules without branches, sources and jobs on the metrics of active runs and jobs', () => {
      const metrics = activeData({ ...owner, since: 1, runs: [], jobs: [job] }, 9, ruled)
      expect(metrics.map(({ name }) => name.split('.').at(-1))).toEqual(['active', 'oldest_wait'])
      const own = { team: 'shop', tier: '1', lane: undefined, note: 'abcd' }
      expect(set(metrics)).toEqual([own, own])
      expect(metrics[0]!.points[0]!.attributes).toMatchObject({ 'platform.cicd.worker.tag_set': 'arm' })
      const other = { ...owner, project: { id: 42, path: 'team/web' } }
      expect(set(activeData({ ...other, since: 1, runs: [], jobs: [job] }, 9, ruled))[0]).toMatchObject({
        team: undefined,
        note: 'abcd',
      })
    })

    it("sets rule attributes on a project's inventory but not on a group's, and never overrides an attribute of the data point", () => {
      const points = [{ metric: 'cicd.worker.count', attributes: { tier: 'gold' }, value: 1 }]
      const found = { instance: key.instance, profile: 'generic', points }
      expect(set(gaugesData({ ...found, project: chunk!.project }, 9, ruled))).toEqual([
        { team: 'shop', tier: 'gold', lane: undefined, note: 'abcd' },
      ])
      expect(gaugesData({ ...found, group: 'shop' }, 9, ruled)[0]!.points[0]!.attributes).toEqual({ tier: 'gold' })
    })
  })

  it('keeps one resource for all pipelines of a project', () => {
    const owner = {
      key: { instance: 'https://git.example.com', projectId: 42 },
      project: chunk!.project,
      profile: 'generic',
    }
    expect(plainAttributes(projectResource(owner, settings))).not.toHaveProperty('team')
    for (const { resource } of decodeMetrics(encodeMetrics([chunk!], settings)))
      expect(resource.attributes).not.toHaveProperty('team')
  })
})

it('finds the literal value of an attribute for a project and a ref class, using only rules that need no other facts', () => {
  const rules = [
    rule({ team: 'nobody' }),
    rule({ team: 'shop' }, { projects: { include: ['shop/**'] } }),
    rule({ team: 'release' }, { projects: { include: ['shop/**'] }, branches: ['tag'] }),
    rule({ team: 'night' }, { sources: { include: ['schedule'] } }),
    rule({ team: 'qa' }, { jobs: { include: ['unit'] } }),
    rule({ team: { label: 'team::' } }),
    rule({ tier: '1' }),
  ]
  const teamOf = literalOf(rules, 'team')
  expect([teamOf('shop/web', 'default'), teamOf('shop/web', 'tag'), teamOf('other/web', 'tag')]).toEqual([
    ...['shop', 'release', 'nobody'],
  ])
  expect(literalOf(rules, 'lane')('shop/web', 'default')).toBeUndefined()
})
