// The large indexes of deployments on SQLite are written when they are read, or for many deployments at once: each deployment would change a page of each of
// them. Until then a small index has it (`deployment-schema.ts`).
import { number } from '../sql/columns.ts'
import type { Database } from './database.ts'

export interface DeploymentLists {
  /** Within the transaction that writes or counts so many deployments. */
  add(deployments: number): void
  /** Within a transaction, after adding its deployments: lists them if there are many. */
  listMany(): void
  /** To be called before reading lists. Throws StoreError. */
  catchUp(): void
}

/** Listed once there are so many. The more, the more of them share a page of a large index, and the more pages the small one has. */
const many = 2_048
/** Listed in one transaction, which takes some milliseconds. */
const listedAtOnce = 512

const count = number('deployments')

export function sqliteDeploymentLists(db: Database): DeploymentLists {
  /** How many are in the small index, or more: a transaction may have been rolled back. Undefined until they are counted. */
  let waiting: number | undefined
  let isListing = false

  /** Those that were listed before they were counted change a page of one index alone. Returns how many were to be listed. */
  function list(): number {
    waiting = undefined
    db.prepare(`UPDATE OR FAIL deployments SET recent = 0 WHERE ${some(1)}`).run(listedAtOnce)
    return Number(
      db.prepare(`UPDATE OR FAIL deployments SET listed = 1, recent = 0 WHERE ${some(0)}`).run(listedAtOnce).changes,
    )
  }

  return {
    add: deployments => {
      if (waiting !== undefined) waiting += deployments
    },
    listMany: () => {
      waiting ??= count(db.prepare('SELECT count(*) AS deployments FROM deployments WHERE recent = 1').get() ?? {})
      isListing = waiting >= (isListing ? listedAtOnce : many)
      if (isListing) list()
    },
    catchUp: () => {
      const isBehind = db.prepare('SELECT 1 FROM deployments WHERE recent = 1 AND listed = 0 LIMIT 1').get()
      while (isBehind !== undefined && db.transaction(list) === listedAtOnce);
    },
  }
}

/** In the order of the indexes, so that neighbours share pages. */
function some(listed: 0 | 1): string {
  return `id IN (SELECT id FROM deployments WHERE recent = 1 AND listed = ${listed} ORDER BY project_id, environment, finished_at LIMIT ?)`
}
