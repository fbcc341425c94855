// Generates chunks with fast-check: every field may be known or unknown, and times and numbers may be any that a payload can contain, however absurd.
import fc from 'fast-check'
import { binaryText } from '../../support/binary-text.ts'
import type { JobSnapshot, Chunk } from '../../../src/model/chunk.ts'
import { knownStatuses } from '../../../src/model/status.ts'
import { instance } from './stories.ts'

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const text = binaryText({ maxLength: 12 })
const id = fc.integer({ min: 1, max: 2 ** 40 })
const status = fc.constantFrom(...knownStatuses, 'a_status_of_tomorrow')
const reason = fc.constantFrom('', 'script_failure', 'api_failure', 'job_execution_timeout', 'downstream_x', 'new')
const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(0, -0, 100, 88.5, 2 ** 53, Number.MAX_VALUE))
const time = fc.oneof(fc.constantFrom(0, -1, 0.2, Number.NaN, 2 ** 60), fc.integer({ min: 1, max: 2 ** 42 }), number)
const person = fc.record({ id: maybe(id), username: maybe(text) })

const runner = fc.record({
  /** A runner's ID is often one of only two, so that the same runner occurs with different facts. */
  id: fc.oneof(id, fc.constantFrom(1, 2)),
  description: maybe(text),
  tags: maybe(fc.array(text, { maxLength: 3 })),
  type: maybe(text),
  active: maybe(fc.boolean()),
  isShared: maybe(fc.boolean()),
})

const jobFields = {
  id,
  kind: fc.constantFrom('job' as const, 'bridge' as const),
  status,
  name: maybe(text),
  stage: maybe(text),
  duration: maybe(number),
  queuedDuration: maybe(number),
  manual: maybe(fc.boolean()),
  allowFailure: maybe(fc.boolean()),
  failureReason: maybe(reason),
  when: maybe(text),
  user: maybe(person),
  runner: maybe(runner),
  artifacts: maybe(fc.record({ filename: text, size: maybe(number) })),
  artifactSizes: maybe(fc.dictionary(fc.constantFrom('trace', 'archive', 'junit'), fc.nat(2 ** 31))),
  tags: maybe(fc.array(text, { maxLength: 3 })),
  critical: maybe(fc.constant(true as const)),
  slack: maybe(number),
  rate: maybe(fc.constantFrom('small', 'large')),
  cost: maybe(fc.constantFrom(0, 0.25, 7)),
  environment: maybe(fc.record({ name: text, action: maybe(text), deploymentTier: maybe(text) })),
  coverage: maybe(number),
  url: maybe(text),
  // The time is rounded, because the official serializers' bytes are corrected to the millisecond.
  createdAt: maybe(time.map(Math.round)),
  startedAt: maybe(time),
  finishedAt: maybe(time),
  start: time,
  end: time,
  retried: fc.boolean(),
  salt: maybe(fc.constantFrom('2', '2.2')),
}

export const anyJobSnapshot: fc.Arbitrary<JobSnapshot> = fc.record(jobFields)

/** The fields in which a job differs from the previous job: none, or some of them. */
export const changes: fc.Arbitrary<Partial<JobSnapshot>> = fc.oneof(
  fc.constant({}),
  fc.record(jobFields, { requiredKeys: [] }).map(all => Object.fromEntries(Object.entries(all).slice(0, 3))),
)

const facts = fc.record({
  status,
  iid: maybe(id),
  name: maybe(text),
  ref: maybe(text),
  sha: maybe(text),
  beforeSha: maybe(text),
  tag: maybe(fc.boolean()),
  source: maybe(fc.oneof(text, fc.constantFrom('push', 'merge_request_event'))),
  detailedStatus: maybe(text),
  stages: maybe(fc.array(text, { maxLength: 3 })),
  duration: maybe(number),
  queuedDuration: maybe(number),
  protectedRef: maybe(fc.boolean()),
  url: maybe(text),
  user: maybe(person),
  commit: maybe(fc.record({ id: maybe(text), message: maybe(text) })),
  mergeRequest: maybe(
    fc.record({
      id: maybe(id),
      iid: id,
      title: maybe(text),
      state: maybe(fc.oneof(text, fc.constantFrom('opened', 'merged'))),
      draft: maybe(fc.boolean()),
      sourceBranch: maybe(text),
      targetBranch: maybe(text),
      url: maybe(text),
      fork: maybe(fc.boolean()),
    }),
  ),
  sourcePipeline: maybe(fc.record({ pipelineId: id })),
  committedAt: maybe(time.map(Math.round)),
  coverage: maybe(fc.constantFrom(0, 71.5, 88, Number.NaN)),
  yamlErrors: maybe(text),
})

export const traceContext: fc.Arbitrary<Chunk['trace']> = fc.record({
  scheme: fc.constantFrom('instance' as const, 'platform' as const),
  profile: fc.constantFrom('generic', 'gitlab', 'gone'),
  rootPipelineId: id,
  traceparent: maybe(
    fc.constantFrom('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', `00-${'0'.repeat(32)}-0-01`),
  ),
  parent: maybe(fc.record({ jobId: id, kind: fc.constantFrom('job' as const, 'bridge' as const) })),
  linked: maybe(fc.record({ pipelineId: id, rootPipelineId: id })),
})

export const anyChunk: fc.Arbitrary<Chunk> = fc.record({
  version: fc.constant(1 as const),
  key: fc.record({ instance: fc.constant(instance), pipelineId: id }),
  project: fc.record({ id, name: maybe(text), path: maybe(text), webUrl: maybe(text) }),
  attempt: fc.integer({ min: 1, max: 3 }),
  number: fc.integer({ min: 1, max: 2 }),
  kind: fc.constantFrom('attempt' as const, 'supplement' as const),
  trace: traceContext,
  pipeline: fc.record({
    facts,
    createdAt: maybe(time),
    start: time,
    end: time,
    finishedAt: maybe(time),
    incomplete: fc.boolean(),
    failures: fc.array(reason, { maxLength: 3 }),
    jobCount: fc.nat(),
    computeMs: maybe(number),
    cost: maybe(fc.constantFrom(0, 0.1 + 0.2, 12)),
    superseded: maybe(fc.constant(true as const)),
  }),
  jobs: fc.uniqueArray(anyJobSnapshot, { maxLength: 3, selector: ({ id: jobId }) => jobId }),
})
