// Reads the runs of the subjects that are judged, from the newest stored pipelines of a project.
import { endedRuns, sectionRuns, type EndedRun } from './ended-run.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { JudgedProject, Judging } from './judging.ts'
import type { Millis } from '../../model/instant.ts'
import type { Subject } from './series.ts'

/** Reading stops after this many pipelines, or when every subject has this many runs. */
const most = { pipelines: 400, runs: 120 }

export interface ReadRuns {
  /** By subject (`keyOf`). */
  readonly runs: ReadonlyMap<string, readonly EndedRun[]>
  readonly pipelines: number
  readonly backTo: Millis | undefined
}

export function keyOf({ branch, job, section }: Pick<Subject, 'branch' | 'job' | 'section'>): string {
  return `${branch} ${section}\n${job}`
}

export async function readRuns(
  judging: Pick<Judging, 'newest'>,
  project: JudgedProject,
  wanted: readonly Subject[],
): Promise<ReadRuns> {
  const keys = new Set(wanted.map(keyOf))
  const sectionsOf = new Set(wanted.filter(({ section }) => section !== '').map(({ job }) => job))
  const runs = new Map<string, EndedRun[]>()
  const seen = new Set<number>()
  let backTo: Millis | undefined
  for await (const chunks of await judging.newest(project, most.pipelines, sectionsOf)) {
    for (const { key, pipeline } of chunks) {
      seen.add(key.pipelineId)
      backTo = Math.min(backTo ?? Infinity, pipeline.end)
    }
    for (const run of runsOf(chunks)) {
      const key = keyOf(run)
      if (!keys.has(key)) continue
      const its = runs.get(key) ?? []
      its.push(run)
      runs.set(key, its)
    }
    if ([...keys].every(key => (runs.get(key)?.length ?? 0) >= most.runs)) break
  }
  return { runs, pipelines: seen.size, backTo }
}

function runsOf(chunks: readonly Chunk[]): EndedRun[] {
  const found = chunks.flatMap(chunk => (chunk.inside === undefined ? endedRuns(chunk) : []))
  const byJob = new Map(found.map(run => [run.snapshot?.id, run]))
  for (const { inside } of chunks) {
    if (inside === undefined) continue
    const run = byJob.get(inside.job.id)
    if (run !== undefined) found.push(...sectionRuns(run, inside))
  }
  return found
}
