// How many runs or deployments each ref or environment of a project has had: stored, because pruning deletes the rows.
import { z } from 'zod'
import { documentKind } from '../../core/store/ports/repository.ts'
import type { NewestOptions } from './newest.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

const countedRows = documentKind(
  'scrape/counts',
  z.object({
    kind: z.enum(['runs', 'deployments']),
    instance: z.string(),
    projectId: z.number(),
    /** Rows up to this id are counted. */
    upTo: z.number(),
    /** By the name of a ref or an environment, the pairs of what is counted, such as a source, and the count. */
    names: z.record(z.string(), z.array(z.tuple([z.string(), z.number()]))),
  }),
  ['kind', 'instance', 'projectId'],
)

export function countedRowsOf(
  { repositories }: Pick<SharedStore, 'repositories'>,
  kind: 'runs' | 'deployments',
): NewestOptions<never>['counts'] {
  const rows = repositories.of(countedRows)
  return {
    load: async () =>
      new Map((await rows.all()).filter(one => one.kind === kind).map(counts => [ownerOf(counts), counts])),
    save: async (owner, counts) => {
      const [instance, projectId] = JSON.parse(owner) as [string, number]
      await rows.put({ kind, instance, projectId, ...counts })
    },
  }
}

/** Names a project of an instance. */
export function ownerOf({ instance, projectId }: { readonly instance: string; readonly projectId: number }): string {
  return JSON.stringify([instance, projectId])
}
