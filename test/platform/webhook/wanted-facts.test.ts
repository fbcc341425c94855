// Tests which variables and labels of a payload are read: only the traceparent, and those that attribute rules need.
import { describe, expect, it } from 'vitest'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { createWantedFacts } from '../../../src/platform/wanted-facts.ts'
import { eventFile } from '../../fixtures/event-files.ts'
import { everyEvent } from '../../../src/platform/webhook/event-selection.ts'
import type { ParseOptions } from '../../../src/platform/webhook/parse-delivery.ts'
import { jsonOf, observe, parse, plain } from './parse-body.ts'

describe("a pipeline's variables in a payload", () => {
  const body = jsonOf('pipeline-merge-request')
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

  it("never includes a pipeline's variables in an observation", () => {
    expect(JSON.stringify(observe(body))).not.toMatch(/planted|TRACEPARENT|0af7651916cd43dd/)
  })

  it("reads only the traceparent from a pipeline's variables, if configured to do so", () => {
    const observation = observe(body, {}, { ...plain, traceparent: true })
    expect(observation.pipeline?.facts.traceparent).toBe(traceparent)
    expect(JSON.stringify(observation)).not.toContain('planted')
  })

  describe('variables named in attribute rules', () => {
    const wantedOf = (...variables: string[]) => createWantedFacts({ labels: [], variables }, createTextRedaction([]))
    const event = (variables: unknown): object => {
      const whole = body as Record<string, object>
      return { ...whole, object_attributes: { ...whole.object_attributes, variables } }
    }
    const variablesOf = (variables: unknown, ...names: string[]): unknown =>
      observe(event(variables), {}, { ...plain, wanted: wantedOf(...names) }).pipeline?.facts.variables
    const listed = [
      { key: 'TEAM', value: 'payments' },
      { key: 'TEAM_KEY', value: 'planted-value' },
      { key: 'team', value: 'planted-value' },
      { key: 'TEAM', value: 'second' },
      { key: 'TIER', value: 1 },
      null,
    ]

    it('reads only variables with the exact configured names, and the first variable if a name is repeated', () => {
      expect(variablesOf(listed, 'TEAM', 'TIER', 'ABSENT')).toEqual({ TEAM: 'payments' })
      expect(variablesOf(listed, 'TEAM*', '.*', '')).toEqual({})
      expect(variablesOf(listed)).toBeUndefined()
      expect(variablesOf(undefined, 'TEAM')).toBeUndefined()
      const all = JSON.stringify(observe(event(listed), {}, { ...plain, wanted: wantedOf('TEAM') }))
      expect(all).not.toMatch(/planted|second/)
    })

    it('redacts the values of variables and truncates them to a maximum length', () => {
      const secrets = [
        { key: 'TEAM', value: `glpat-${'a1B2'.repeat(5)}` },
        { key: 'DB_PASSWORD', value: 'hunter2-hunter2' },
        { key: 'LONG', value: 'x'.repeat(300) },
      ]
      const read = variablesOf(secrets, 'TEAM', 'DB_PASSWORD', 'LONG')
      expect(JSON.stringify(read)).not.toMatch(/a1B2|hunter2/)
      expect(read).toMatchObject({ TEAM: '[REDACTED]', LONG: 'x'.repeat(256) })
    })
  })
})

describe("a merge request's labels", () => {
  const mine = 'team::payments'
  const secret = `team::glpat-${'a1B2'.repeat(5)}`
  const labels = [
    { title: 'workflow::review' },
    { title: mine },
    'team::basket',
    { name: 'team' },
    7,
    null,
    { title: 3 },
  ]
  const wanted = createWantedFacts({ labels: ['team::'], variables: [] }, createTextRedaction([]))
  const event = (labelled: unknown): object => {
    const body = jsonOf('pipeline-merge-request') as Record<string, object>
    return { ...body, merge_request: { ...body.merge_request, labels: labelled } }
  }
  const labelsOf = (labelled: unknown, options: ParseOptions = { ...plain, wanted }): unknown =>
    observe(event(labelled), {}, options).pipeline?.facts.labels

  it('reads only labels that begin with a configured prefix', () => {
    expect(labelsOf(labels)).toEqual(['team::basket', mine])
    expect(labelsOf([])).toEqual([])
    for (const none of [undefined, null, 'team::basket', {}]) expect(labelsOf(none)).toBeUndefined()
    expect(labelsOf(labels, plain)).toBeUndefined()
  })

  it('redacts and truncates labels, and limits them to sixteen', () => {
    expect(JSON.stringify(labelsOf([secret]))).toContain('REDACTED')
    expect(labelsOf([`team::${'x'.repeat(300)}`])).toEqual([`team::${'x'.repeat(250)}`])
    expect(labelsOf(Array.from({ length: 50 }, (_, n) => `team::${n}`))).toHaveLength(16)
  })

  it('also reads labels from merge request events', () => {
    const change = { ...(JSON.parse(eventFile('change').text) as object), labels }
    const parsed = parse(change, {}, { ...plain, wanted, events: everyEvent })
    expect(parsed).toMatchObject({ outcome: 'event', event: { labels: ['team::basket', mine] } })
    expect(parse(change, {}, { ...plain, events: everyEvent })).not.toHaveProperty('event.labels')
  })
})
