// Counts the repositories in a group, and the branches and tags in a repository (semantic conventions, "VCS metrics"; REST document, "Groups"; the
// platform's API, "Branches" and "Tags").
import { z } from 'zod'
import { collector, hour } from './collector.ts'
import { wireId, wireText } from '../rest/wire-field.ts'

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
