// Divides the jobs of a snapshot into chunks that each fit into one request, by an estimate of their size. Pure.
import { defaultChunkBytes } from './chunk-size.ts'
import type { JobSnapshot } from './chunk.ts'

export interface ChunkLimits {
  /** Maximum number of jobs in one chunk. */
  readonly chunkSize: number
  /** Maximum size of one chunk, in estimated bytes. A larger job gets its own chunk. */
  readonly chunkBytes?: number | undefined
}

/** Estimated size of a span without the values of its job, bytes: IDs and attribute names. */
const bytesOfSpan = 700

/** Divides jobs into chunks. There is always at least one chunk, even without jobs, because it carries the pipeline. */
export function splitIntoChunks(
  jobs: readonly JobSnapshot[],
  { chunkSize, chunkBytes = defaultChunkBytes }: ChunkLimits,
): JobSnapshot[][] {
  const groups: JobSnapshot[][] = [[]]
  let bytes = 0
  for (const job of jobs) {
    const size = bytesOfSpan + roughSize(job)
    const open = groups.at(-1) ?? []
    if (open.length > 0 && (open.length >= chunkSize || bytes + size > chunkBytes)) {
      groups.push([job])
      bytes = size
    } else {
      open.push(job)
      bytes += size
    }
  }
  return groups
}

/**
 * Estimates the size of a job in bytes: the strings that can be long, plus 330 bytes for the rest of the job's JSON. The estimate errs on the high
 * side.
 */
function roughSize({ name, stage, url, user, runner, environment, artifacts }: JobSnapshot): number {
  const ownStrings = (name?.length ?? 0) + (stage?.length ?? 0) + (url?.length ?? 0) + (user?.username?.length ?? 0)
  const relatedStrings =
    (environment?.name.length ?? 0) + (artifacts?.filename.length ?? 0) + (runner?.description?.length ?? 0)
  const tags = runner?.tags?.reduce((sum, tag) => sum + tag.length + 3, 0) ?? 0
  return 330 + ownStrings + relatedStrings + tags
}
