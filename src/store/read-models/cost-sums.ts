// Costs of chunks that were read and are not yet written: added up in memory, so that each row is written once for many chunks. Pure.
import { costsOf, type CostRow, type CostSum } from '../ports/costs.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Failures } from './earlier-failures.ts'

export class CostSums {
  readonly #rows = new Map<string, CostRow>()

  get size(): number {
    return this.#rows.size
  }

  add(chunk: Chunk, failedBefore: Failures): void {
    for (const row of costsOf(chunk, failedBefore)) {
      const { bucket, projectId, instance, branch, worker, job } = row
      const name = `${bucket} ${projectId} ${instance} ${branch} ${worker}\n${job}`
      const known = this.#rows.get(name)
      this.#rows.set(name, known === undefined ? row : plus(known, row))
    }
  }

  rows(): CostRow[] {
    return [...this.#rows.values()]
  }
}

function plus(sum: CostRow, more: CostRow): CostRow {
  return {
    ...more,
    ...both(sum, more),
    runs: sum.runs + more.runs,
    lost: {
      retried: both(sum.lost.retried, more.lost.retried),
      superseded: both(sum.lost.superseded, more.lost.superseded),
      failed: both(sum.lost.failed, more.lost.failed),
      flaky: both(sum.lost.flaky, more.lost.flaky),
    },
  }
}

function both(a: CostSum, b: CostSum): CostSum {
  return { totalMs: a.totalMs + b.totalMs, cost: a.cost + b.cost }
}
