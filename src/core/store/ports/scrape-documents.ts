// How many runs or deployments a project has had, for counters that are only scraped.
import { z } from 'zod'

export const countedRows = z.object({
  kind: z.enum(['runs', 'deployments']),
  instance: z.string(),
  projectId: z.number(),
  /** Rows up to this id are counted. */
  upTo: z.number(),
  /** By the name of a ref or an environment, the pairs of what is counted, such as a source, and the count. */
  names: z.record(z.string(), z.array(z.tuple([z.string(), z.number()]))),
})
export type CountedRows = z.infer<typeof countedRows>
