// The span ids that Pipespan derives for a run, by both trace schemes (`instance` and `platform`). A job's own spans must not use these ids, because
// they would look like Pipespan's spans.
import {
  jobSpanId,
  parentOfPipeline,
  pipelineSpanId,
  sectionSpanId,
  testSpanId,
} from '../../../core/telemetry/otlp/ids.ts'
import type { Identified, IdentifiedJob } from '../../../core/telemetry/otlp/ids.ts'
import type { Run } from '../../../model/run.ts'

/** The highest ordinals of sections and tests for which ids are derived, for the job itself and for each other job. */
const maxOrdinals = { own: { sections: 1_000, tests: 10_000 }, others: { sections: 200, tests: 1_000 } }
/** The maximum number of derived ids for sections and tests of other jobs. Without it, a run with thousands of jobs would have millions. */
const maxOfOthers = 300_000

type Given = Identified & { readonly jobs: readonly IdentifiedJob[] }

/** Yields the derived ids. `run` is the run with all its jobs, if it is still stored. `jobId` is the job that created the spans. */
export function* derivedSpanIds(chunk: Given, run: Run | undefined, jobId: number): Generator<string, void> {
  const attempts = Math.max(chunk.attempt, run?.attempts.at(-1)?.attempt ?? 1)
  const jobs = [...new Map([...chunk.jobs, ...jobsOf(run)].map(job => [`${job.id} ${job.salt ?? ''}`, job])).values()]
  const schemes = (['instance', 'platform'] as const).map(scheme => ({ ...chunk, trace: { ...chunk.trace, scheme } }))
  for (const under of schemes) {
    const parent = parentOfPipeline(under)
    if (parent !== undefined) yield parent.spanId
    for (let attempt = 1; attempt <= attempts; attempt += 1) yield pipelineSpanId(under, attempt)
    for (const job of jobs) yield jobSpanId(under, job)
  }
  const [own, others] = [jobs.filter(({ id }) => id === jobId), jobs.filter(({ id }) => id !== jobId)]
  yield* insideIds(schemes, own, maxOrdinals.own, Infinity)
  yield* insideIds(schemes, others, maxOrdinals.others, maxOfOthers)
}

function* insideIds(
  schemes: readonly Given[],
  jobs: readonly IdentifiedJob[],
  max: { readonly sections: number; readonly tests: number },
  maxIds: number,
): Generator<string, void> {
  let count = 0
  for (let ordinal = 1; ordinal <= Math.max(max.sections, max.tests); ordinal += 1) {
    for (const job of jobs) {
      for (const under of schemes) {
        if (count >= maxIds) return
        count += 2
        if (ordinal <= max.sections) yield sectionSpanId(under, job, ordinal)
        if (ordinal <= max.tests) yield testSpanId(under, job, ordinal)
      }
    }
  }
}

/** Returns the jobs of a run: each job once without a salt, and once more for each salt that its span ids may have been derived with. */
function jobsOf(run: Run | undefined): IdentifiedJob[] {
  return [...(run?.jobs.values() ?? [])].flatMap(({ id, record, snapshot }) => {
    const { kind } = record.facts
    const salts = Array.from({ length: snapshot?.attempt ?? 1 }, (_, index) => index + 1).flatMap(attempt => [
      String(attempt),
      ...Array.from({ length: Math.max(0, (snapshot?.spans ?? 1) - 1) }, (_, index) => `${attempt}.${index + 2}`),
    ])
    return [
      { id, kind },
      ...(snapshot?.spans === undefined || snapshot.spans < 2 ? [] : salts.map(salt => ({ id, kind, salt }))),
    ]
  })
}
