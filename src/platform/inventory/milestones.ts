// Collects the open milestones of a group or a project, and the time until each is due (REST document, "Milestones and iterations").
import { z } from 'zod'
import { hour, pathOf, point, type Collector } from './collector.ts'
import { maybe, wireId, wireText } from '../rest/wire-field.ts'

const milestone = z.object({ id: wireId, title: maybe(wireText), due_date: maybe(z.iso.date()) })

const title = 'platform.milestone.title'
const day = 24 * hour

export const milestones: Collector = {
  kind: 'milestones',
  of: 'groups or projects',
  description: 'Open milestones, and how long until each is due.',
  paths: ['/projects/:id/milestones', '/groups/:id/milestones'],
  every: hour,
  requests: '1 per 100 milestones',
  atLeast: 1,
  role: 'a member',
  metrics: [
    {
      name: 'platform.milestone.open',
      ...{ unit: '{milestone}', number: 'int', attributes: [] },
      description: 'Milestones that are open.',
    },
    {
      name: 'platform.milestone.due',
      ...{ unit: 's', number: 'double', attributes: [title] },
      description: 'Time until the end of the due date of the milestone (UTC); negative if it is overdue.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const { items, left } = await ask.all(`${pathOf(owner)}/milestones`, milestone, { state: 'active' })
    return {
      omitted: left,
      points: [
        point('platform.milestone.open', items.length + left),
        ...items.flatMap(({ id, title: name = String(id), due_date: due }) =>
          due === undefined
            ? []
            : [point('platform.milestone.due', { until: Date.parse(due) + day }, { [title]: name })],
        ),
      ],
    }
  },
}
