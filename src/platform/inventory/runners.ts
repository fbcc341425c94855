// Collects the runners of a project, a group or the whole instance: how many can take jobs, and when each was last in contact (the platform's API,
// "Runners").
//
// The state of a runner (semantic conventions, `cicd.worker.state`) is `offline` if the platform has lost contact with it or an operator has paused
// it. Otherwise it is `busy` if the runner is executing a job, and `available` if not. Some platforms do not report whether a runner is executing a
// job. For these, the collector requests each runner's running jobs.
import { z } from 'zod'
import { maybe, wireFlag, wireId, wireText, wireTexts, wireTime } from '../rest/wire-field.ts'
import { collector, hiddenKinds, minute, since, unless } from './collector.ts'
import type { Asking } from '../port/asking.ts'

/** Maximum number of runners whose details are requested in one collection round. Each takes a separate request. */
export const maxRunners = 200

const runner = z.object({
  id: wireId,
  status: maybe(wireText),
  runner_type: maybe(wireText),
  description: maybe(wireText),
  paused: maybe(wireFlag),
  job_execution_status: maybe(wireText),
})

/** The response about a single runner. It has more fields than a runner in the list. */
const details = runner.extend({
  contacted_at: maybe(wireTime),
  version: maybe(wireText),
  tag_list: maybe(wireTexts),
})
type Details = z.infer<typeof details>

const runningJob = z.object({ id: wireId })

const states = ['available', 'busy', 'offline'] as const
type State = (typeof states)[number]

const [state, type] = ['cicd.worker.state', 'platform.cicd.worker.type']
const own = ['cicd.worker.id', 'cicd.worker.name']

export const runners = collector({
  kind: 'runners',
  of: 'groups or projects',
  hasInstance: true,
  description:
    'Runners: how many are available, busy or offline, their version, and the time since their last contact.',
  paths: ['/projects/:id/runners', '/groups/:id/runners', '/runners/all', '/runners/:id', '/runners/:id/jobs'],
  every: 5 * minute,
  requests: '1 per 100 runners + runners; twice as many on platforms that do not report whether a runner is busy',
  role: 'Maintainer of the project, Owner of the group; for `*` an administrator',
  read: async ({ ask, path }) => {
    const { items, left } = await ask.all(path === '' ? '/runners/all' : `${path}/runners`, runner)
    const all: (Details & { readonly is: State; readonly name: string })[] = []
    for (const [index, listed] of items.entries()) {
      const mayAsk = index < maxRunners
      const one = { ...listed, ...(mayAsk && (await unless(hiddenKinds, ask.one(`/runners/${listed.id}`, details)))) }
      all.push({ ...one, is: await stateOf(one, mayAsk, ask), name: one.description ?? String(one.id) })
    }
    return { all, detailed: all.slice(0, maxRunners), omitted: left + Math.max(0, all.length - maxRunners) }
  },
  metrics: [
    {
      ...{ name: 'cicd.worker.count', type: 'updowncounter', unit: '{count}', attributes: [state, type] },
      description: 'Runners, by state and type. A paused runner is offline.',
      // Each runner type that occurs has data points for all states, so that a state that no runner is in anymore is reported as 0.
      points: ({ all }) =>
        [...Map.groupBy(all, one => one.runner_type)].flatMap(([ofType, some]) =>
          states.map(word => [some.filter(({ is }) => is === word).length, word, ofType] as const),
        ),
    },
    {
      ...{ name: 'platform.cicd.worker.info', unit: '1' },
      attributes: [...own, state, type, 'platform.cicd.worker.version', 'platform.cicd.worker.tag_set'],
      description: `1 for each runner, with its version and tags (${maxRunners} runners at most).`,
      points: ({ detailed }) =>
        detailed.map(one => {
          const tags = one.tag_list?.toSorted().join(',')
          return [1, String(one.id), one.name, one.is, one.runner_type, one.version, tags]
        }),
    },
    {
      ...{ name: 'platform.cicd.worker.paused', unit: '1', attributes: own },
      description: '1 if an operator has paused the runner, else 0.',
      points: ({ detailed }) =>
        detailed.map(({ id, name, paused }) => [paused === undefined ? paused : Number(paused), String(id), name]),
    },
    {
      ...{ name: 'platform.cicd.worker.last_contact', unit: 's', attributes: own },
      description: 'Time since the runner last contacted the platform.',
      points: ({ detailed }) => detailed.map(({ id, name, contacted_at: at }) => [since(at), String(id), name]),
    },
  ],
})

async function stateOf(one: Details, mayAsk: boolean, ask: Asking): Promise<State> {
  const { id, status = 'online', paused, job_execution_status: execution } = one
  if (execution === 'active') return 'busy'
  if (status !== 'online') return 'offline'
  if (execution === undefined && mayAsk) {
    const jobs = await unless(hiddenKinds, ask.all(`/runners/${id}/jobs`, runningJob, { status: 'running' }, 1))
    if ((jobs?.items.length ?? 0) > 0) return 'busy'
  }
  return paused === true ? 'offline' : 'available'
}
