// Collects the open milestones of a group or a project, and the time until each is due (REST document, "Milestones and iterations").
import { z } from 'zod'
import { collector, day, hour, until } from './collector.ts'
import { maybe, wireId, wireText } from '../rest/wire-field.ts'

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
