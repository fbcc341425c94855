// Collects a project's pipeline schedules: when each is due next, and how its last pipeline ended (the platform's API, "Pipeline schedules").
import { collector, hidden, minute, since, unless, until } from './collector.ts'
import { judge, knownSchedules, nameOf, schedule } from './missed-schedules.ts'

const own = ['platform.schedule.id', 'platform.schedule.name']

export const schedules = collector({
  kind: 'schedules',
  of: 'projects',
  description: 'Pipeline schedules: when each is due next, and how its last pipeline ended.',
  paths: ['/projects/:id/pipeline_schedules', '/projects/:id/pipeline_schedules/:schedule_id'],
  every: 10 * minute,
  requests: '1 per 100 schedules + active schedules',
  role: 'Developer; the last pipeline is shown to Maintainers and to the owner of the schedule',
  read: async ({ ask, path, now, memory }) => {
    const { items, left } = await ask.all(`${path}/pipeline_schedules`, schedule, {}, undefined, ['active'])
    const { data: before = {} } = knownSchedules.safeParse(memory)
    const judged = []
    for (const listed of items) {
      const one = `${path}/pipeline_schedules/${listed.id}`
      const detailed = listed.active === true ? await unless(hidden, ask.one(one, schedule)) : undefined
      const found = { ...listed, ...detailed }
      judged.push({ found, ...judge(found, before[found.id], now, detailed !== undefined) })
    }
    return {
      all: judged.map(({ found }) => ({ ...found, own: [String(found.id), nameOf(found)] as const })),
      active: items.filter(one => one.active === true).length,
      ...{ omitted: left, events: judged.flatMap(({ events }) => events) },
      memory: Object.fromEntries(judged.map(({ found, memory: known }) => [found.id, known])),
    }
  },
  metrics: [
    {
      ...{ name: 'platform.schedule.count', unit: '{schedule}', attributes: ['platform.schedule.active'] },
      description: 'Pipeline schedules of the project, active or not.',
      points: ({ all, active }) => [
        [active, true],
        [all.length - active, false],
      ],
    },
    {
      ...{ name: 'platform.schedule.next_run', unit: 's', attributes: own },
      description: 'Time until the active schedule is due; negative if it is overdue.',
      points: ({ all }) => all.map(one => [one.active === true ? until(one.next_run_at) : undefined, ...one.own]),
    },
    {
      ...{ name: 'platform.schedule.last_run', unit: 's', attributes: own },
      description: 'Time since the creation of the last pipeline of the schedule.',
      points: ({ all }) => all.map(one => [since(one.last_pipeline?.created_at), ...one.own]),
    },
    {
      ...{ name: 'platform.schedule.last_result', unit: '1', attributes: [...own, 'pipeline.status'] },
      description: '1 for the status of the last pipeline of the schedule.',
      points: ({ all }) =>
        all.map(({ own: ids, last_pipeline: { status } = {} }) => [status === undefined ? status : 1, ...ids, status]),
    },
    {
      ...{ name: 'platform.schedule.age', unit: 's', attributes: own },
      description: 'Age of the schedule: an old one may have been forgotten.',
      points: ({ all }) => all.map(one => [since(one.created_at), ...one.own]),
    },
  ],
})
