// Collects what a group has: the limits of its compute minutes, which only paid tiers have (REST document, "Other resources"), and the number of its
// repositories (semantic conventions, "VCS metrics"; REST document, "Groups").
import { z } from 'zod'
import { collector, hour } from './collector.ts'
import { maybe, wireCount, wireId } from '../rest/wire-field.ts'

const group = z.object({
  shared_runners_minutes_limit: maybe(wireCount),
  extra_shared_runners_minutes_limit: maybe(wireCount),
})

export const groups = collector({
  kind: 'groups',
  of: 'groups',
  description: 'Limits of compute minutes.',
  paths: ['/groups/:id'],
  every: hour,
  requests: '1',
  role: 'a member who may see the limits; a paid tier',
  read: async ({ ask, path }) => {
    const answer = await ask.one(path, group, { with_projects: false })
    const field = 'shared_runners_minutes_limit'
    const remedy = 'Give the token a user who may see the limits (paid tiers), or remove `inventory.groups`.'
    // Without extra minutes the platform may leave out their limit.
    const lacking = answer[field] === undefined ? `The group's answer has no usable ${field}. ${remedy}` : undefined
    return { own: answer[field], extra: answer.extra_shared_runners_minutes_limit, problem: lacking }
  },
  metrics: [
    {
      ...{ name: 'platform.group.compute_minutes.limit', unit: 'min' },
      description: 'Minutes of instance runners that the group may use per month; 0 means no limit.',
      points: ({ own }) => [[own]],
    },
    {
      ...{ name: 'platform.group.compute_minutes.extra_limit', unit: 'min' },
      description: 'Additional minutes that the group has bought.',
      points: ({ extra }) => [[extra]],
    },
  ],
})

const project = z.object({ id: wireId })

export const repositories = collector({
  kind: 'repositories',
  of: 'groups',
  description: 'Number of repositories of the group and its subgroups.',
  paths: ['/groups/:id/projects'],
  every: hour,
  requests: '1 per 100 repositories, at most 10',
  role: 'a member',
  read: async ({ ask, path }) =>
    ask.all(`${path}/projects`, project, { include_subgroups: true, simple: true, archived: false }),
  metrics: [
    {
      ...{ name: 'vcs.repository.count', type: 'updowncounter', unit: '{repository}' },
      description: 'Repositories of the group and its subgroups.',
      points: ({ items, left }) => [[items.length + left]],
    },
  ],
})
