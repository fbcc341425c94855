// Reads what happened inside jobs: the sections and lines of their logs, their tests and other reports, and the spans that they created themselves.
// These are read after the job's span was exported, so that no pipeline waits for them, and are exported in separate chunks. `job-reads.ts` decides
// what is read about which jobs, and adds it to a queue in the transaction of the snapshot. `job-reader.ts`, the file to read first, processes the
// due entries. Each kind has its own reader (`read-log.ts`, `read-tests.ts`, `read-report.ts`, `read-spans.ts`), and `job-reading.ts` stores the
// outcome. `telemetry/` encodes it as OTLP. `pages/` has the pages for job logs and tests.
import { checkInsides } from './checks.ts'
import { feature } from '../../daemon/feature.ts'
import { insideCounts } from './counts.ts'
import { insideCosts, insideOptions, wrongInsides } from './options.ts'
import { insideTables } from './store-part.ts'
import { jobReadRulesOf, jobReadStep } from './job-reads.ts'
import { insideTelemetry } from './telemetry/insides.ts'
import { jobReaderOf } from './part.ts'

export const jobInsides = feature({
  name: 'job-insides',
  options: insideOptions,
  patterns: ['job.projects'],
  faults: wrongInsides,
  schema: insideTables,
  lineStep: (options, context) => (context.tokens().length === 0 ? {} : jobReadStep(jobReadRulesOf(options, context))),
  parts: [{ why: 'remaining job logs and reports are read after the next start', create: jobReaderOf }],
  counts: insideCounts,
  insides: insideTelemetry,
  perToken: { checks: [{ name: 'jobs', run: checkInsides }], costs: insideCosts },
  console: async (options, context) => (await import('./console.ts')).insidesConsole(options, context),
})
