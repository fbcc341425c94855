// Counts the branches and tags of a repository (semantic conventions, "VCS metrics"; the platform's API, "Branches" and "Tags").
import { z } from 'zod'
import { hour, pathOf, point, type Collector } from './collector.ts'
import { wireText } from '../rest/wire-field.ts'

const listed = z.object({ name: wireText })
const refType = 'vcs.ref.type'

export const refs: Collector = {
  kind: 'refs',
  of: 'projects',
  description: 'Number of branches and tags of the repository.',
  paths: ['/projects/:id/repository/branches', '/projects/:id/repository/tags'],
  every: hour,
  requests: '1 per 100 branches, and 1 per 100 tags, at most 20',
  atLeast: 2,
  role: 'a member',
  metrics: [
    {
      name: 'vcs.ref.count',
      ...{ type: 'updowncounter', unit: '{ref}', number: 'int', attributes: [refType] },
      description: 'Branches or tags of the repository.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const path = `${pathOf(owner)}/repository`
    const branches = await ask.all(`${path}/branches`, listed)
    const tags = await ask.all(`${path}/tags`, listed)
    return {
      points: [
        point('vcs.ref.count', branches.items.length + branches.left, { [refType]: 'branch' }),
        point('vcs.ref.count', tags.items.length + tags.left, { [refType]: 'tag' }),
      ],
    }
  },
}
