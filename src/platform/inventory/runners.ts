// Collects the runners of a project, a group or the whole instance: how many can take jobs, and when each was last in contact (the platform's API,
// "Runners").
//
// A runner is `offline` if the platform has lost contact with it or an operator has paused it, `busy` if it executes a job, else `available`
// (semantic conventions, `cicd.worker.state`). Platforms that do not report whether a runner executes a job are asked for its running jobs.
import { z } from 'zod'
import { maybe, wireFlag, wireId, wireText, wireTexts, wireTime } from '../rest/wire-field.ts'
import { hidden, minute, pathOf, point, unless, type Collector, type Round } from './collector.ts'
import type { CollectedPoint } from '../../model/inventory.ts'

/** Maximum number of runners that are asked about one by one in a round. */
export const maxRunners = 200

const runner = z.object({
  id: wireId,
  status: maybe(wireText),
  runner_type: maybe(wireText),
  description: maybe(wireText),
  paused: maybe(wireFlag),
  job_execution_status: maybe(wireText),
})
type Runner = z.infer<typeof runner>

/** What only the answer about a single runner contains. */
const details = runner.extend({
  contacted_at: maybe(wireTime),
  version: maybe(wireText),
  tag_list: maybe(wireTexts),
})
type Details = z.infer<typeof details>

const runningJob = z.object({ id: wireId })

const states = ['available', 'busy', 'offline'] as const
type State = (typeof states)[number]

const state = 'cicd.worker.state'
const id = 'cicd.worker.id'
const name = 'cicd.worker.name'
const type = 'platform.cicd.worker.type'
const version = 'platform.cicd.worker.version'
const tagSet = 'platform.cicd.worker.tag_set'

export const runners: Collector = {
  kind: 'runners',
  of: 'groups or projects',
  hasInstance: true,
  description:
    'Runners: how many are available, busy or offline, their version, and the time since their last contact.',
  paths: ['/projects/:id/runners', '/groups/:id/runners', '/runners/all', '/runners/:id', '/runners/:id/jobs'],
  every: 5 * minute,
  requests: '1 per 100 runners + runners; twice as many on platforms that do not report whether a runner is busy',
  atLeast: 1,
  role: 'Maintainer of the project, Owner of the group; for `*` an administrator',
  metrics: [
    {
      name: 'cicd.worker.count',
      ...{ type: 'updowncounter', unit: '{count}', number: 'int', attributes: [state, type] },
      description: 'Runners, by state and type. A paused runner is offline.',
    },
    {
      name: 'platform.cicd.worker.info',
      ...{ unit: '1', number: 'int', attributes: [id, name, state, type, version, tagSet] },
      description: `1 for each runner, with its version and tags (${maxRunners} runners at most).`,
    },
    {
      name: 'platform.cicd.worker.paused',
      ...{ unit: '1', number: 'int', attributes: [id, name] },
      description: '1 if an operator has paused the runner, else 0.',
    },
    {
      name: 'platform.cicd.worker.last_contact',
      ...{ unit: 's', number: 'double', attributes: [id, name] },
      description: 'Time since the runner last contacted the platform.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const isInstance = owner.project === undefined && owner.group === undefined
    const { items, left } = await ask.all(isInstance ? '/runners/all' : `${pathOf(owner)}/runners`, runner)
    const known: { readonly of: Details; readonly is: State }[] = []
    for (const [index, listed] of items.entries()) {
      const detailed = index < maxRunners ? await unless(hidden, ask.one(`/runners/${listed.id}`, details)) : undefined
      const of = { ...listed, ...detailed }
      known.push({ of, is: await stateOf(of, ask, index < maxRunners) })
    }
    return {
      points: [...counts(known), ...known.slice(0, maxRunners).flatMap(pointsOf)],
      omitted: left + Math.max(0, items.length - maxRunners),
    }
  },
}

async function stateOf(of: Runner, ask: Round['ask'], mayAsk: boolean): Promise<State> {
  if (of.job_execution_status === 'active') return 'busy'
  const hasContact = of.status === undefined || of.status === 'online'
  if (!hasContact) return 'offline'
  if (of.job_execution_status === undefined && mayAsk) {
    const jobs = await unless(hidden, ask.all(`/runners/${of.id}/jobs`, runningJob, { status: 'running' }, 1))
    if ((jobs?.items.length ?? 0) > 0) return 'busy'
  }
  return of.paused === true ? 'offline' : 'available'
}

/** All states of each type that occurs, so that a state which no runner is in any more is sent with 0. */
function counts(known: readonly { readonly of: Details; readonly is: State }[]): CollectedPoint[] {
  const byType = Map.groupBy(known, ({ of }) => of.runner_type)
  return [...byType].flatMap(([runnerType, ofType]) =>
    states.map(word =>
      point('cicd.worker.count', ofType.filter(({ is }) => is === word).length, {
        [state]: word,
        ...(runnerType !== undefined && { [type]: runnerType }),
      }),
    ),
  )
}

function pointsOf({ of, is }: { readonly of: Details; readonly is: State }): CollectedPoint[] {
  const own = { [id]: String(of.id), [name]: of.description ?? String(of.id) }
  const more = {
    ...(of.runner_type !== undefined && { [type]: of.runner_type }),
    ...(of.version !== undefined && { [version]: of.version }),
    ...(of.tag_list !== undefined && { [tagSet]: of.tag_list.toSorted().join(',') }),
  }
  return [
    point('platform.cicd.worker.info', 1, { ...own, [state]: is, ...more }),
    ...(of.paused === undefined ? [] : [point('platform.cicd.worker.paused', of.paused ? 1 : 0, own)]),
    ...(of.contacted_at === undefined
      ? []
      : [point('platform.cicd.worker.last_contact', { since: of.contacted_at }, own)]),
  ]
}
