// Tests the attribute tables: the types and presence of attributes for any reported values, and the operator's attribute settings.
import { createHash } from 'node:crypto'
import { binaryText } from '../../support/binary-text.ts'
import type { Attributes } from '@opentelemetry/api'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { profiles } from '../../../src/daemon/profile.ts'
import { jobAttributes, jobSubjects } from '../../../src/core/telemetry/mapping/job.ts'
import { pipelineAttributes } from '../../../src/core/telemetry/mapping/pipeline.ts'
import { rowsIn, type RowVariant } from '../../../src/core/telemetry/mapping/row.ts'
import { cut, attributesOf, keyUnder } from '../../../src/core/telemetry/attributes.ts'
import { resourceAttributes } from '../../../src/core/telemetry/mapping/resource.ts'
import { resourceAttributesOf } from '../../../src/core/telemetry/resource.ts'
import { plainAttributes } from '../../../src/core/telemetry/otlp/attribute.ts'
import {
  profileOf,
  styleOf,
  telemetrySettings,
  type TelemetryOptions,
  type TelemetrySettings,
} from '../../../src/core/telemetry/settings.ts'
import { readableSpans } from './sdk.ts'
import { anyChunk } from './arbitraries.ts'
import { stories } from './stories.ts'
import type { Chunk, JobSnapshot } from '../../../src/model/chunk.ts'

const settings = telemetrySettings({ profiles })
const success = stories.success![0]!

function resourceWith(options: TelemetryOptions, chunk: Chunk = success): Attributes {
  return plainAttributes(resourceAttributesOf(chunk, telemetrySettings({ profiles, ...options })))
}

function pipelineAttributesOf(chunk: Chunk, chosen: TelemetrySettings): Attributes {
  return plainAttributes(attributesOf(pipelineAttributes, chunk, styleOf(chunk, chosen)))
}

function jobAttributesOf(chunk: Chunk, job: JobSnapshot, chosen: TelemetrySettings): Attributes {
  return plainAttributes(attributesOf(jobAttributes, jobSubjects(chunk)(job), styleOf(chunk, chosen)))
}

function withProject(project: Partial<Chunk['project']>): Chunk {
  return { ...success, project: { id: 42, ...project } }
}

const isInt64 = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= -(2 ** 63) && (value as number) < 2 ** 63

const isOfType: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string' && value.isWellFormed(),
  'string[]': value => Array.isArray(value) && value.every(item => typeof item === 'string' && item.isWellFormed()),
  int: isInt64,
  nanoseconds: isInt64,
  double: value => Number.isFinite(value),
  bool: value => typeof value === 'boolean',
}

interface AnyRow {
  readonly keys: readonly string[]
  readonly type: string
  readonly when: string
  readonly only?: RowVariant
}

function expectTable(rows: readonly AnyRow[], attributes: Attributes, chunk: Chunk): void {
  const { namespace } = profileOf(chunk, settings)
  const typeOf = new Map(rows.flatMap(({ keys, type }) => keys.map(key => [keyUnder(namespace, key), type] as const)))
  for (const [key, value] of Object.entries(attributes)) {
    expect.soft(isOfType[typeOf.get(key) ?? '']?.(value), `${key} = ${String(value)}`).toBe(true)
  }
}

describe('attributes of arbitrary observations', () => {
  it('exports only attributes that are in their table, with the declared type', () => {
    fc.assert(
      fc.property(anyChunk, chunk => {
        expectTable(resourceAttributes, plainAttributes(resourceAttributesOf(chunk, settings)), chunk)
        expectTable(pipelineAttributes, pipelineAttributesOf(chunk, settings), chunk)
        for (const job of chunk.jobs) expectTable(jobAttributes, jobAttributesOf(chunk, job, settings), chunk)
      }),
    )
  })

  it('always sets the attributes that the contract guarantees if the project is known', () => {
    const placed = anyChunk.map(chunk => ({ ...chunk, project: { ...chunk.project, webUrl: 'https://x.example/a' } }))
    const promised = (rows: readonly AnyRow[], namespace: string) =>
      rows
        .filter(({ when, only }) => when.startsWith('always') && only !== 'strict')
        .flatMap(({ keys }) => keys.map(key => keyUnder(namespace, key)))
    fc.assert(
      fc.property(placed, chunk => {
        const { namespace } = profileOf(chunk, settings)
        // Numbers beyond 64 bits are the only values that cannot be represented.
        const sane = {
          ...chunk,
          pipeline: { ...chunk.pipeline, facts: { ...chunk.pipeline.facts, duration: 1, queuedDuration: 0 } },
        }
        const pipeline = Object.keys(pipelineAttributesOf(sane, settings))
        expect(pipeline).toEqual(expect.arrayContaining(promised(pipelineAttributes, namespace)))
        for (const job of chunk.jobs) {
          const attributes = jobAttributesOf(sane, { ...job, duration: undefined, queuedDuration: undefined }, settings)
          expect(Object.keys(attributes)).toEqual(expect.arrayContaining(promised(jobAttributes, namespace)))
        }
      }),
    )
  })

  it('uses no attribute name twice in a table', () => {
    for (const rows of [resourceAttributes, pipelineAttributes, jobAttributes]) {
      for (const conventions of ['contract', 'strict'] as const) {
        const keys = rowsIn<AnyRow>(rows, new Set([conventions, 'run'])).flatMap(row => row.keys)
        expect(new Set(keys).size).toBe(keys.length)
      }
    }
  })
})

describe('the resource', () => {
  it('takes the service name from its own setting, or else from the configured resource attributes, or else from the project', () => {
    const own = { 'service.name': 'theirs' }
    expect(resourceWith({ serviceName: 'ours', resourceAttributes: own })['service.name']).toBe('ours')
    expect(resourceWith({ serviceName: ' ', resourceAttributes: own })['service.name']).toBe('theirs')
    expect(resourceWith({})['service.name']).toBe('Checkout')
    expect(resourceWith({}, withProject({ path: 'shop/till' }))['service.name']).toBe('till')
    expect(resourceWith({}, withProject({}))['service.name']).toBe('unknown_service')
  })

  it('sets the environment under both attribute names, whichever one is configured', () => {
    for (const name of ['deployment.environment', 'deployment.environment.name']) {
      expect(resourceWith({ resourceAttributes: { [name]: 'staging' } })).toMatchObject({
        'deployment.environment': 'staging',
        'deployment.environment.name': 'staging',
      })
    }
  })

  it("adds the operator's own attributes to those of the contract", () => {
    const resource = resourceWith({
      resourceAttributes: {
        'service.namespace': 'shop',
        team: 'payments',
        tier: 2,
        'service.version': '9',
        'vcs.owner.name': 'me',
        'vcs.mine': 'x',
        'platform.mine': 'x',
      },
    })
    expect(resource).toMatchObject({
      'service.namespace': 'shop',
      team: 'payments',
      tier: 2,
      'service.version': '1.0.0',
    })
    expect(resource['vcs.owner.name']).toBe('shop/backend')
    expect(Object.keys(resource)).not.toContain('vcs.mine')
    expect(Object.keys(resource)).not.toContain('platform.mine')
  })

  it.each([
    ['a/b/c', 'a/b'],
    ['a/c', 'a'],
    ['c', undefined],
    [undefined, undefined],
  ])('sets the owner of the project at %s to %s', (path, owner) => {
    expect(resourceWith({}, withProject({ path }))['vcs.owner.name']).toBe(owner)
  })
})

describe('an attribute that the operator excludes', () => {
  const all = (options: TelemetryOptions) =>
    readableSpans(success, telemetrySettings({ profiles, ...options })).map(({ attributes, resource }) => ({
      ...resource.attributes,
      ...attributes,
    }))

  it('drops an excluded attribute by name or pattern, from the resource and from every span', () => {
    const dropped = all({ drop: ['*.user.*', 'vcs.owner.name', '*commit.message', '*.revision.message'] })
    const keys = dropped.flatMap(attributes => Object.keys(attributes))
    expect(keys.filter(key => /\.user\.|message|owner/.test(key))).toEqual([])
    expect(keys).toContain('pipeline.commit.id')
  })

  it('hashes the string form of an excluded attribute, so that equal values stay equal', () => {
    const sha = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32)
    const [pipeline, compile] = all({ hash: ['**.username', '*.user.id', '*.tags', 'service.name'] })
    expect(pipeline).toMatchObject({
      'service.name': sha('Checkout'),
      'pipeline.user.username': sha('ada'),
      'pipeline.user.id': sha('7'),
    })
    expect(compile).toMatchObject({
      'platform.cicd.pipeline.task.user.username': sha('ada'),
      'job.runner.tags': sha('["linux","docker"]'),
    })
  })
})

describe('long values', () => {
  it('truncates long values to 4096 code units unless configured otherwise', () => {
    const facts = { ...success.pipeline.facts, commit: { message: 'm'.repeat(10_000) } }
    const chunk = { ...success, pipeline: { ...success.pipeline, facts } }
    expect(pipelineAttributesOf(chunk, settings)['pipeline.commit.message']).toHaveLength(4096)
    const short = telemetrySettings({ profiles, valueLengthLimit: 10 })
    expect(pipelineAttributesOf(chunk, short)['pipeline.commit.message']).toHaveLength(10)
  })

  it('truncates long values between code points, so that they remain valid Unicode', () => {
    fc.assert(
      fc.property(binaryText(), fc.nat({ max: 20 }), (text, limit) => {
        const short = cut(text, limit)
        expect(short.isWellFormed()).toBe(true)
        expect(short.length).toBeLessThanOrEqual(limit)
        expect(text.toWellFormed().startsWith(short)).toBe(true)
        expect(Math.min(text.length, limit) - short.length).toBeLessThanOrEqual(1)
      }),
    )
  })
})
