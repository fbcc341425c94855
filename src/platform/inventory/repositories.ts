// Counts the repositories of a group and its subgroups (semantic conventions, "VCS metrics"; REST document, "Groups").
import { z } from 'zod'
import { hour, pathOf, point, type Collector } from './collector.ts'
import { wireId } from '../rest/wire-field.ts'

const listed = z.object({ id: wireId })

export const repositories: Collector = {
  kind: 'repositories',
  of: 'groups',
  description: 'Number of repositories of the group and its subgroups.',
  paths: ['/groups/:id/projects'],
  every: hour,
  requests: '1 per 100 repositories, at most 10',
  atLeast: 1,
  role: 'a member',
  metrics: [
    {
      name: 'vcs.repository.count',
      ...{ type: 'updowncounter', unit: '{repository}', number: 'int', attributes: [] },
      description: 'Repositories of the group and its subgroups.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const query = { include_subgroups: true, simple: true, archived: false }
    const { items, left } = await ask.all(`${pathOf(owner)}/projects`, listed, query)
    return { points: [point('vcs.repository.count', items.length + left)] }
  },
}
