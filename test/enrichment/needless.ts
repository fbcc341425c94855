// Readings of everything that may be read about the inside of a job, none of which finds anything to read.
import { jobReadables, type JobReadable } from '../../src/store/ports/job-reads.ts'
import type { JobReading } from '../../src/enrichment/job-reading.ts'

export const needlessReadings = Object.fromEntries(
  jobReadables.map(what => [what, async () => ({ as: 'needless' as const })]),
) as unknown as Record<JobReadable, JobReading>
