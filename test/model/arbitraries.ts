// Generators that let fast-check produce observations of one run. Their ranges are small, so that times and ids often collide.
import fc from 'fast-check'
import { knownStatuses } from '../../src/model/status.ts'
import type { ObservedJob, Observation } from '../../src/model/observation.ts'

const base = Date.UTC(2026, 0, 1)

/** Generates instants. Some are truncated to the second, as in webhooks, and some have milliseconds, as in REST. */
const instant = fc
  .tuple(fc.integer({ min: 0, max: 40 }), fc.constantFrom(0, 0, 123, 987))
  .map(([seconds, millis]) => base + seconds * 1000 + millis)

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const status = fc.constantFrom(...knownStatuses, 'a_status_of_tomorrow')

export const observedJob: fc.Arbitrary<ObservedJob> = fc.record({
  id: fc.integer({ min: 1, max: 5 }),
  facts: fc.record({
    kind: fc.constant('job' as const),
    status,
    name: maybe(fc.constantFrom('build', 'test')),
    stage: maybe(fc.constantFrom('one', 'two')),
    duration: maybe(fc.integer({ min: 0, max: 3 })),
    failureReason: maybe(fc.constantFrom('script_failure', 'runner_system_failure')),
    artifactSizes: maybe(fc.constantFrom({ trace: 10 }, { archive: 7, trace: 10 })),
    tags: maybe(fc.constantFrom([], ['large'])),
    user: maybe(fc.constantFrom({ id: 1, username: 'ada' }, { username: 'ada' })),
    runner: maybe(fc.constantFrom({ id: 1, tags: ['linux'] }, { id: 1, description: 'one' }, { id: 2, tags: [] })),
  }),
  times: fc.record({ createdAt: maybe(instant), startedAt: maybe(instant), finishedAt: maybe(instant) }),
})

export const observation: fc.Arbitrary<Observation> = fc.record({
  key: fc.constant({ instance: 'https://git.example.com', pipelineId: 7 }),
  origin: fc.constantFrom('webhook' as const, 'rest' as const),
  project: fc.record({ id: fc.constant(3), name: maybe(fc.constantFrom('old', 'new')) }),
  mergeRequestEvent: maybe(fc.constantFrom('detached', 'merge_train')),
  pipeline: maybe(
    fc.record({
      facts: fc.record({
        status,
        ref: maybe(fc.constantFrom('main', 'topic', 'refs/merge-requests/1/head')),
        mergeRequest: maybe(
          fc.constantFrom(
            { iid: 1 },
            { iid: 1, title: 'listed' },
            { id: 9, iid: 1, title: 'old' },
            { id: 9, iid: 1, title: 'new' },
          ),
        ),
        duration: maybe(fc.integer({ min: 0, max: 5 })),
        committedAt: maybe(instant),
        coverage: maybe(fc.constantFrom(71.5, 88)),
        yamlErrors: maybe(fc.constantFrom('no jobs', 'no stages')),
        detailedStatus: maybe(fc.constantFrom('passed', 'passed with warnings')),
      }),
      times: fc.record({ createdAt: maybe(instant), finishedAt: maybe(instant), updatedAt: maybe(instant) }),
    }),
  ),
  jobs: fc.array(observedJob, { maxLength: 4 }),
})
