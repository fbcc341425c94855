// Tests how a job's sections, log lines and own spans are exported as spans and log records.
import { describe, expect, it } from 'vitest'
import { insideTelemetry } from '../../../src/features/job-insides/telemetry/insides.ts'
import { plainAttributes } from '../../../src/core/telemetry/otlp/attribute.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { stories } from '../../core/telemetry/stories.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { AttributeSetter } from '../../../src/core/telemetry/custom-attributes.ts'
import type { InsideJob, Section } from '../../../src/model/inside.ts'
import type { OwnSpan } from '../../../src/model/own-span.ts'

const settings = telemetrySettings({ profiles, insides: insideTelemetry })
const [chunk] = stories.success!
const t0 = chunk!.pipeline.start
const job: InsideJob = { ...{ id: 1, kind: 'job', name: 'unit' }, start: t0, end: t0 + 9 }
/** Times that are before 1970, do not fit in 64 bits as nanoseconds, or are not a number. */
const impossible = [-1, 1e16, NaN]

describe('telemetry from inside a job', () => {
  it("drops a job's sections, own spans and log lines that have an impossible time", () => {
    const section = (name: string, start: number, end: number): Section => ({
      ...{ ordinal: 1, name, kind: 'script', clock: 'line', start, end },
    })
    const own = (name: string, start: number, end: number): OwnSpan => ({
      ...{ id: '0123456789abcdef', name, kind: 1, start, end, attributes: [], status: 0 },
      dropped: { attributes: 0, events: 0, links: 0 },
    })
    const times = [[t0, t0 + 9] as const, ...impossible.flatMap(at => [[t0, at] as const, [at, t0 + 9] as const])]
    const sections = times.map(([start, end], at) => section(`part-${at}`, start, end))
    const ownSpans = times.map(([start, end], at) => own(`part-${at}`, start, end))
    const lines = [t0, ...impossible].map((at, number) => ({ number, at, text: `line ${number}` }))
    for (const inside of [{ sections }, { ownSpans }]) {
      const spans = insideTelemetry.spans(chunk!, { job, ...inside }, settings)
      expect(spans).toMatchObject([
        {
          ...{ name: expect.stringContaining('part-0') as string, droppedAttributesCount: 0 },
          ...{ droppedEventsCount: 0, droppedLinksCount: 0 },
        },
      ])
    }
    expect(insideTelemetry.records(chunk!, { job, lines }, settings).map(({ body }) => body)).toEqual(['line 0'])
  })

  it('adds the place where a job ran to the spans of its sections and the records of its log lines', () => {
    const section: Section = {
      ...{ ordinal: 1, name: 'step_script', kind: 'runner', clock: 'line', start: t0, end: t0 + 9 },
    }
    const ranOn = { host: 'ip-10-0-0-1', pod: 'runner-1', node: 'node-a' }
    const names = { 'host.name': 'ip-10-0-0-1', 'k8s.pod.name': 'runner-1', 'k8s.node.name': 'node-a' }
    const [span] = insideTelemetry.spans(chunk!, { job, ranOn, sections: [section] }, settings)
    const [record] = insideTelemetry.records(
      chunk!,
      { job, ranOn, lines: [{ number: 1, at: t0, text: 'hello' }] },
      settings,
    )
    for (const { attributes } of [span!, record!]) expect(plainAttributes(attributes)).toMatchObject(names)
    const [unknown] = insideTelemetry.spans(chunk!, { job, sections: [section] }, settings)
    expect(Object.keys(plainAttributes(unknown!.attributes))).not.toContain('host.name')
  })

  it('adds the attributes that a rule sets for a job to everything inside the job', () => {
    const rule = (team: string, jobs: string): AttributeSetter => ({
      ...{ projects: {}, sources: {}, jobs: { include: [jobs] }, metrics: false },
      set: { team },
    })
    const own = telemetrySettings({ profiles, attributeRules: [rule('all', '*'), rule('qa', '{unit,lint}')] })
    const section: Section = { ...{ ordinal: 1, name: 'a', kind: 'script', clock: 'line' }, start: t0, end: t0 + 9 }
    const spans = insideTelemetry.spans(chunk!, { job, sections: [section] }, own)
    const records = insideTelemetry.records(chunk!, { job, lines: [{ number: 1, at: t0, text: 'ok' }] }, own)
    expect([...spans, ...records].map(({ attributes }) => plainAttributes(attributes).team)).toEqual(['qa', 'qa'])
  })
})
