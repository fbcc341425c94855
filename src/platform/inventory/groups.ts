// Collects a group's compute minute limits, which only paid tiers have (REST document, "Other resources"), and the open milestones of a group or
// project, with the time until each is due (REST document, "Milestones and iterations").
import { z } from 'zod'
import { collector, day, hour, until } from './collector.ts'
import { maybe, wireCount, wireId, wireText } from '../rest/wire-field.ts'

const group = z.object({
  shared_runners_minutes_limit: maybe(wireCount),
  extra_shared_runners_minutes_limit: maybe(wireCount),
})

export const groups = collector({
  kind: 'groups',
  of: 'groups',
  description: 'Compute minute limits.',
  paths: ['/groups/:id'],
  every: hour,
  requests: '1',
  role: 'a member who may see the limits; a paid tier',
  read: async ({ ask, path }) => {
    const answer = await ask.one(path, group, { with_projects: false })
    const field = 'shared_runners_minutes_limit'
    const remedy = 'Use a token of a user who may see the limits (paid tiers), or remove `inventory.groups`.'
    // The platform may omit the limit of extra minutes if there are none.
    const lacking =
      answer[field] === undefined ? `The response about the group has no usable ${field}. ${remedy}` : undefined
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

const milestone = z.object({ id: wireId, title: maybe(wireText), due_date: maybe(z.iso.date()) })

export const milestones = collector({
  kind: 'milestones',
  of: 'groups or projects',
  description: 'Open milestones, and how long until each is due.',
  paths: ['/projects/:id/milestones', '/groups/:id/milestones'],
  every: hour,
  requests: '1 per 100 milestones',
  role: 'a member',
  read: async ({ ask, path }) => {
    const { items, left } = await ask.all(`${path}/milestones`, milestone, { state: 'active' })
    return { items, omitted: left }
  },
  metrics: [
    {
      ...{ name: 'platform.milestone.open', unit: '{milestone}' },
      description: 'Milestones that are open.',
      points: ({ items, omitted }) => [[items.length + omitted]],
    },
    {
      ...{ name: 'platform.milestone.due', unit: 's', attributes: ['platform.milestone.title'] },
      description: 'Time until the end of the due date of the milestone (UTC); negative if it is overdue.',
      points: ({ items }) =>
        items.map(({ id, title = String(id), due_date: due }) => [
          until(due === undefined ? due : Date.parse(due) + day),
          title,
        ]),
    },
  ],
})
