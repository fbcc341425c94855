// What rows of one thing read, against what is compared of it: a fact that is not compared would be told of the wrong job.
import { describe, expect, it } from 'vitest'
import { jobAttributes, jobSubject, type JobSubject } from '../../src/telemetry/mapping/job.ts'
import { sameList, type Thing } from '../../src/telemetry/attributes/things.ts'
import { stories } from './stories.ts'
import type { JobSnapshot, Chunk } from '../../src/model/chunk.ts'

const part = stories.success![0]!
const job: JobSnapshot = {
  id: 7,
  kind: 'bridge',
  status: 'failed',
  failureReason: 'script_failure',
  name: 'deploy',
  stage: 'deploy',
  duration: 1.5,
  queuedDuration: 0.5,
  manual: true,
  allowFailure: true,
  when: 'on_success',
  user: { id: 3, username: 'ada' },
  runner: { id: 5, description: 'one', tags: ['a', 'b'], type: 'shared', active: true, isShared: true },
  artifacts: { filename: 'a.zip', size: 4 },
  environment: { name: 'production', action: 'start', deploymentTier: 'production' },
  coverage: 88.5,
  createdAt: 1_767_225_600_000,
  startedAt: 1_767_225_601_000,
  finishedAt: 1_767_225_602_000,
  start: 1_767_225_601_000,
  end: 1_767_225_602_000,
  retried: true,
}

/** The value, of which every field that is read is noted, however deep it is. */
function watched<T extends object>(value: T, path: string, read: Set<string>): T {
  return new Proxy(value, {
    get(target, key, receiver) {
      const own: unknown = Reflect.get(target, key, receiver)
      const name = `${path}.${String(key)}`
      if (typeof own === 'object' && own !== null) return watched(own, name, read)
      if (Object.hasOwn(target, key)) read.add(name)
      return own
    },
  })
}

function subjectNoting(read: Set<string>): JobSubject {
  return jobSubject(watched<Chunk>(part, 'part', read), watched(job, 'job', read), undefined)
}

const things = [...new Set(jobAttributes.flatMap(({ of }) => of ?? []))]

function rowsOf(thing: Thing<JobSubject>) {
  return jobAttributes.filter(({ of }) => of === thing)
}

describe.each(things.map(thing => [rowsOf(thing)[0]!.keys[0], thing] as const))('the thing of %s', (_, thing) => {
  it('compares every fact that its rows read', () => {
    const compared = new Set<string>()
    const of = thing.of(subjectNoting(compared))!
    expect(thing.same(of, thing.of(subjectNoting(compared))!)).toBe(true)
    const told = new Set<string>()
    const subject = subjectNoting(told)
    for (const { value } of rowsOf(thing)) JSON.stringify(value(subject))
    expect([...compared]).toEqual(expect.arrayContaining([...told]))
  })

  it('is known by its first row, and is in the table once', () => {
    const places = jobAttributes.flatMap(({ of }, n) => (of === thing ? [n] : []))
    expect(places).toEqual(places.map((_place, n) => places[0]! + n))
  })

  it('tells nothing where it is not there', () => {
    const { id, kind, status, start, end, retried } = job
    const bare = jobSubject(part, { id, kind, status, start, end, retried }, undefined)
    if (thing.of(bare) === undefined) for (const { value } of rowsOf(thing)) expect(value(bare)).toBeUndefined()
  })
})

describe('lists', () => {
  it('are the same when all that is in them is', () => {
    expect(sameList(['a', 'b'], ['a', 'b'])).toBe(true)
    expect(sameList(undefined, undefined)).toBe(true)
    for (const other of [undefined, [], ['a'], ['a', 'c'], ['a', 'b', 'c']])
      expect(sameList(['a', 'b'], other)).toBe(false)
  })
})
