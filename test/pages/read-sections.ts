// Sections of a job as if its log had been read: for the pages that show them.
import { insideChunks } from '../../src/model/inside-chunks.ts'
import type { Section } from '../../src/model/inside.ts'
import type { Store } from '../../src/store/ports/store.ts'

/** By the share of the job's time. */
export type SectionPlan = Pick<Section, 'ordinal' | 'parent' | 'name' | 'title' | 'kind' | 'failed'> & {
  readonly from: number
  readonly to: number
}

export const sampleSections: readonly SectionPlan[] = [
  { ordinal: 1, name: 'prepare_executor', kind: 'runner', from: 0, to: 0.1 },
  { ordinal: 2, name: 'step_script', kind: 'runner', from: 0.1, to: 0.95, failed: true },
  { ordinal: 3, parent: 2, name: 'install', title: 'Install <b>all</b>', kind: 'custom', from: 0.15, to: 0.4 },
  { ordinal: 7, parent: 2, name: 'unit', kind: 'custom', from: 0.4, to: 0.9, failed: true },
]

/** Of the first failed job that ran; answers the address of its page. */
export async function withSections({ views, runs }: Store, plans: readonly SectionPlan[]): Promise<string> {
  for (const { run } of await views.lastFinished(100)) {
    for (const chunk of await views.chunks(run.key)) {
      const job = chunk.jobs.find(({ status, start, end }) => status === 'failed' && end > start)
      if (job === undefined) continue
      const { id, kind, name, start, end } = job
      const at = (share: number): number => start + share * (end - start)
      const sections = plans.map(({ from, to, ...plan }): Section => ({
        ...plan,
        ...{ clock: 'line', start: at(from), end: at(to) },
      }))
      await runs.transact([
        {
          ...{ key: run.key, jobs: [] },
          decide: known => {
            const made = known && insideChunks(known.run, chunk, [{ job: { id, kind, name, start, end }, sections }])
            if (known === undefined || made === undefined) throw new Error('the run is gone')
            const pending = made.chunks.map(one => ({ chunk: one, to: [] }))
            return { run: made.run, jobs: [], timing: known.timing, pending }
          },
        },
      ])
      return `/pipelines/${run.project.facts.id}/${run.key.pipelineId}/jobs/${id}`
    }
  }
  throw new Error('no job failed')
}
