// Counts the branches and tags of a repository (semantic conventions, "VCS metrics"; the platform's API, "Branches" and "Tags").
import { z } from 'zod'
import { collector, hour } from './collector.ts'
import { wireText } from '../rest/wire-field.ts'

const ref = z.object({ name: wireText })

export const refs = collector({
  kind: 'refs',
  of: 'projects',
  description: 'Number of branches and tags of the repository.',
  paths: ['/projects/:id/repository/branches', '/projects/:id/repository/tags'],
  every: hour,
  requests: '1 per 100 branches, and 1 per 100 tags, at most 20',
  atLeast: 2,
  role: 'a member',
  read: async ({ ask, path }) => ({
    branches: await ask.all(`${path}/repository/branches`, ref),
    tags: await ask.all(`${path}/repository/tags`, ref),
  }),
  metrics: [
    {
      ...{ name: 'vcs.ref.count', type: 'updowncounter', unit: '{ref}', attributes: ['vcs.ref.type'] },
      description: 'Branches or tags of the repository.',
      points: ({ branches, tags }) => [
        [branches.items.length + branches.left, 'branch'],
        [tags.items.length + tags.left, 'tag'],
      ],
    },
  ],
})
