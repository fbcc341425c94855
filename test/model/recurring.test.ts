// What many jobs name alike is one object in memory, and never somebody else's.
import { expect, test } from 'vitest'
import { observedJob, viewJob } from '../../src/model/job.ts'
import type { JobView } from '../../src/model/job.ts'
import type { Runner } from '../../src/model/observation.ts'

const docker: Runner = { id: 7, description: 'shared', tags: ['linux', 'docker'], type: 'instance_type', active: true }

function viewWith(id: number, runner: Runner | undefined, username = 'jo'): JobView {
  const facts = { status: 'success', kind: 'job', name: `job ${id}`, user: { id: 3, username }, runner } as const
  return viewJob(observedJob({ id, facts: structuredClone(facts), times: {} }, 'webhook'))
}

test('shares one object between jobs with an equal runner or person', () => {
  const [one, other] = [viewWith(1, docker), viewWith(2, docker)]
  expect(one.runner).toEqual(docker)
  expect(one.user).toEqual({ id: 3, username: 'jo' })
  expect(other.runner).toBe(one.runner)
  expect(other.user).toBe(one.user)
})

test.each([
  ['another tag', { ...docker, tags: ['linux', 'shell'] }],
  ['one tag fewer', { ...docker, tags: ['linux'] }],
  ['tags in another order', { ...docker, tags: ['docker', 'linux'] }],
  ['another state', { ...docker, active: false }],
  ['a field more', { ...docker, isShared: true }],
  ['a field fewer', { id: 7, description: 'shared', tags: ['linux', 'docker'], type: 'instance_type' }],
  ['no tags', { id: 7, description: 'shared', type: 'instance_type', active: true }],
] satisfies [string, Runner][])('keeps a runner as its job reported it if that has %s since then', (_, changed) => {
  expect(viewWith(1, docker).runner).toEqual(docker)
  expect(viewWith(2, changed).runner).toStrictEqual(changed)
  expect(viewWith(3, docker).runner).toStrictEqual(docker)
})

test('keeps the name that each job reported if a person was renamed', () => {
  expect(viewWith(1, docker).user?.username).toBe('jo')
  expect(viewWith(2, docker, 'joanna').user?.username).toBe('joanna')
})

test('stays correct with more runners than it remembers', () => {
  const all = Array.from({ length: 1_200 }, (_, n) => ({ ...docker, id: n + 1, description: `runner ${n + 1}` }))
  expect(all.map((runner, n) => viewWith(n + 1, runner).runner)).toEqual(all)
})
