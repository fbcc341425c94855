// How chunks are stored: whatever is in a chunk is in what is read back, in half of the bytes, and a chunk of an earlier daemon is read too.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyChunk } from '../telemetry/arbitraries.ts'
import { chunkText } from '../../src/store/sql/chunk-text.ts'
import { storedChunk } from '../../src/store/sql/stored-json.ts'
import type { Chunk, JobSnapshot } from '../../src/model/chunk.ts'

/** JSON has neither undefined nor NaN: such fields are as if they were not there. */
function known<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null)) as T
}

function asJson(chunk: Chunk): Chunk {
  const read = JSON.parse(JSON.stringify(chunk)) as Chunk
  return {
    ...read,
    jobs: read.jobs.map(job => known({ ...job, runner: job.runner && known(job.runner) })),
  }
}

const id = fc.integer({ min: 1 })
const beside = fc.record({ deploymentId: id, downstream: fc.record({ pipelineId: id }) }, { requiredKeys: [] })

const finite = (time: number): number => (Number.isFinite(time) ? time : 0)

/** Times of spans are always known, and JSON has no infinite ones. */
const stored = fc.tuple(anyChunk, beside).map(([chunk, others]): Chunk => ({
  ...chunk,
  jobs: chunk.jobs.map(job => ({ ...job, ...others, start: finite(job.start), end: finite(job.end) })),
}))

describe('a stored chunk', () => {
  it('is read back with every field that it had', () => {
    fc.assert(
      fc.property(stored, chunk => {
        expect(storedChunk(chunkText(chunk))).toEqual(asJson(chunk))
      }),
    )
  })

  it('stores recurring runners, people and tags once, and jobs share them after reading', () => {
    const user = { id: 4, username: 'ada' }
    const runner = { id: 9, description: 'shared runner', tags: ['linux', 'docker'], type: 'instance_type' }
    const jobs = Array.from({ length: 20 }, (_, id): JobSnapshot => ({
      ...{ id, kind: 'job', status: 'success', name: `job ${id}`, createdAt: 1, startedAt: 2, finishedAt: 3 },
      ...{ start: 2, end: 3, retried: false, user, runner, tags: ['linux', 'docker'] },
    }))
    const head = { key: {}, project: { id: 3 }, attempt: 1, trace: {}, pipeline: { facts: {} } }
    const chunk = { ...head, jobs } as unknown as Chunk
    const text = chunkText(chunk)
    expect(text.split('shared runner')).toHaveLength(2)
    expect(text.split('docker')).toHaveLength(2)
    expect(text.length).toBeLessThan(JSON.stringify(chunk).length / 2)
    const [first, ...others] = storedChunk(text).jobs
    expect(first?.runner).toEqual(runner)
    for (const { runner: other, user: person } of others) {
      expect(other).toBe(first?.runner)
      expect(person).toBe(first?.user)
    }
  })

  it.each([
    ['no rows', '{"rows":1,"people":[],"runners":[],"tags":[]}'],
    ['a row that is none', '{"rows":[1],"people":[],"runners":[],"tags":[]}'],
    ['no lists', '{"rows":[[1,"job","success"]]}'],
    ['a text', '"jobs"'],
    ['null', 'null'],
  ])('is an error if it is damaged, with %s in the place of its jobs', (_, jobs) => {
    const text = `{"version":1,"key":{},"project":{"id":3},"attempt":1,"trace":{},"pipeline":{"facts":{}},"jobs":${jobs}}`
    expect(() => storedChunk(text)).toThrow('The stored data is damaged.')
  })
})
