// Tests payloads in which fields are missing, null, of the wrong type, huge, negative or otherwise invalid. Nothing throws, no secret leaks, and
// every result is valid for the model.
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { observedRun, mergeRun } from '../../../src/model/run.ts'
import { parseDelivery, type ParseOptions } from '../../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import type { Observation } from '../../../src/model/observation.ts'
import { runs } from '../../full.ts'

type Path = readonly (string | number)[]

const folder = new URL('../../fixtures/webhooks/', import.meta.url)
const files = readdirSync(folder).filter(file => /^(pipeline|job)/.test(file))
const bodies = files.map(file => {
  const text = readFileSync(new URL(file, folder)).toString()
  return { event: file.startsWith('job') ? 'Job Hook' : 'Pipeline Hook', text, paths: pathsOf(JSON.parse(text)) }
})

const options: ParseOptions = { profile: profiles.generic, traceparent: false }
const instance = 'https://git.example.com'
const removed = Symbol('removed')

/** Generates replacement values for a field. Strings that must not appear in a result contain `planted`. */
const replacement = fc.oneof(
  fc.constantFrom<unknown>(
    removed,
    null,
    true,
    0,
    -1,
    -0,
    1.5,
    1e308,
    2 ** 53,
    -(2 ** 63),
    '',
    ' ',
    'NaN',
    '17',
    '9'.repeat(400),
    'planted',
    'planted\0\ud800',
    'planted '.repeat(20_000),
    '2016-02-30 10:00:00 UTC',
    '0001-01-01T00:00:00Z',
    '9999-12-31 23:59:59 UTC',
    '2021-04-28 21:50:00 +0200',
    '2021-04-28T21:50:00.123456+02:00',
    [],
    {},
    [null, 1, 'planted'],
    { id: 'planted' },
    { __proto__: null, constructor: { prototype: { planted: true } } },
  ),
  fc.jsonValue(),
)

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))]
}

function mutate(body: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value === removed ? null : value
  // An earlier mutation may have removed the field.
  if (typeof body !== 'object' || body === null) return body
  const record = body as Record<string | number, unknown>
  if (rest.length === 0 && value === removed) Reflect.deleteProperty(record, key)
  else if (key in record) record[key] = mutate(record[key], rest, value)
  return record
}

/** Generates a payload from a file, with up to four fields changed. */
const mutated = fc.nat(bodies.length - 1).chain(index => {
  const { event, text, paths } = bodies[index]!
  const change = fc.tuple(fc.constantFrom(...paths), replacement)
  return fc.array(change, { minLength: 1, maxLength: 4 }).map(changes => {
    const body = changes.reduce<unknown>((before, [path, value]) => mutate(before, path, value), JSON.parse(text))
    return { event, body: JSON.stringify(body) }
  })
})

function parse(event: string | undefined, body: string, with_ = options) {
  return parseDelivery({ event, instance, body: Buffer.from(body) }, with_)
}

function expectSound({ key, project, pipeline, jobs }: Observation) {
  expect(key.instance).toBe(instance)
  const source = pipeline?.facts.sourcePipeline
  const ids = [
    ...[key.pipelineId, project.id, pipeline?.facts.iid, pipeline?.facts.user?.id, pipeline?.facts.rootPipelineId],
    ...[pipeline?.facts.mergeRequest?.id, pipeline?.facts.mergeRequest?.iid],
    ...[source?.pipelineId, source?.projectId, source?.jobId],
    ...jobs.flatMap(({ id, facts }) => [id, facts.user?.id, facts.runner?.id]),
  ]
  for (const id of ids) expect(id === undefined || (Number.isSafeInteger(id) && id > 0)).toBe(true)
  const times = [pipeline?.times, ...jobs.map(job => job.times)].flatMap(of => Object.values(of ?? {}) as number[])
  for (const time of times) {
    expect(Number.isSafeInteger(time)).toBe(true)
    expect(time).toBeGreaterThanOrEqual(Date.UTC(1971, 0))
    expect(time).toBeLessThan(Date.UTC(2262, 0))
  }
  for (const { status, duration = 0, queuedDuration = 0 } of [pipeline?.facts, ...jobs.map(job => job.facts)].filter(
    facts => facts !== undefined,
  )) {
    expect(status).toMatch(/\S/)
    for (const seconds of [duration, queuedDuration])
      expect(seconds >= 0 && Number.isSafeInteger(Math.floor(seconds * 1000))).toBe(true)
  }
}

describe('a payload with malformed fields', () => {
  it("decodes or rejects a malformed payload without an exception, and without repeating a variable's value", () => {
    fc.assert(
      fc.property(mutated, fc.boolean(), ({ event, body }, reported) => {
        const parsed = parse(reported ? event : undefined, body)
        expect(JSON.stringify(parsed)).not.toMatch(/planted-secret|TRACEPARENT/)
        if (parsed.outcome === 'unparseable') expect(parsed.reason).not.toContain('planted')
        if (parsed.outcome !== 'observation') return
        const { observation } = parsed
        expectSound(observation)
        expect(JSON.parse(JSON.stringify(observation))).toEqual(observation)
        const run = observedRun(observation)
        expect(mergeRun(run, observedRun(observation))).toBe(run)
      }),
      runs(1_500),
    )
  })

  it('reads a traceparent from a malformed payload only if it is valid and reading it is enabled', () => {
    fc.assert(
      fc.property(mutated, ({ event, body }) => {
        const parsed = parse(event, body, { ...options, traceparent: true })
        expect(JSON.stringify(parsed)).not.toMatch(/planted-secret|TRACEPARENT/)
        if (parsed.outcome !== 'observation') return
        expect(parsed.observation.pipeline?.facts.traceparent ?? '').toMatch(/^(00-[0-9a-f]{32}-[0-9a-f]{16}-01)?$/)
      }),
      runs(300),
    )
  })

  it('rejects a malformed payload only if a required field is wrong', () => {
    const required =
      /^(object_attributes(\.id|\.status)?|project(\.id)?|build_id|build_status|pipeline_id|project_id)?$/
    const optional = fc.nat(bodies.length - 1).chain(index => {
      const { event, text, paths } = bodies[index]!
      const path = fc.constantFrom(...paths.filter(candidate => !required.test(candidate.join('.'))))
      return fc.tuple(fc.constant(event), fc.constant(text), path, replacement)
    })
    fc.assert(
      fc.property(optional, ([event, text, path, value]) => {
        const body = JSON.stringify(mutate(JSON.parse(text), path, value))
        expect(parse(event, body).outcome).toBe('observation')
      }),
      runs(1_000),
    )
  })

  it('rejects or ignores a payload that is truncated or not JSON', () => {
    const cut = fc.nat(bodies.length - 1).chain(index => {
      const { text } = bodies[index]!
      return fc.nat(text.trimEnd().length - 1).map(length => Buffer.from(text.slice(0, length)))
    })
    fc.assert(
      fc.property(
        fc.oneof(cut, fc.uint8Array()),
        fc.constantFrom(undefined, 'Pipeline Hook', 'Job Hook'),
        (body, event) => {
          const parsed = parseDelivery({ event, body }, options)
          expect(parsed.outcome).not.toBe('observation')
          expect(JSON.stringify(parsed)).not.toContain('planted')
        },
      ),
      runs(300),
    )
  })
})
