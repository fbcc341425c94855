// The reports of the simulated platform's jobs, by artifact type: tests, metrics, dotenv, coverage, a security scan.
import { gzipSync } from 'node:zlib'
import { Random } from './random.ts'
import { testReportOf } from './test-reports.ts'
import type { SimReport } from './plan.ts'
import type { SimJob, SimPipeline } from './state.ts'

const made = new WeakMap<SimJob, ReadonlyMap<string, Buffer>>()

/** Gzipped files by type; none before the job has finished. Made once. */
export function artifactsOf(job: SimJob, pipeline: SimPipeline): ReadonlyMap<string, Buffer> {
  if (job.finishedAt === undefined) return new Map()
  const known = made.get(job)
  if (known !== undefined) return known
  const artifacts = new Map<string, Buffer>()
  const tests = testReportOf(job, pipeline)
  if (tests !== undefined) artifacts.set('junit', tests)
  for (const type of job.startedAt === undefined || job.status !== 'success' ? [] : (job.plan.reports ?? [])) {
    artifacts.set(type, gzipSync(writers[type](job, pipeline)))
  }
  made.set(job, artifacts)
  return artifacts
}

const writers: Readonly<Record<SimReport, (job: SimJob, pipeline: SimPipeline) => string>> = {
  metrics,
  dotenv,
  cobertura,
  sast,
}

/** Bundles grow a little with each pipeline. */
function metrics({ id }: SimJob, { iid }: SimPipeline): string {
  const random = new Random(id)
  const bytes = (start: number) => Math.round((start + iid * 90) * random.between(0.99, 1.01))
  return `# TYPE bundle_size_bytes gauge
bundle_size_bytes{part="app"} ${bytes(412_000)}
bundle_size_bytes{part="vendor"} ${bytes(1_208_000)}
# TYPE modules gauge
modules ${1_204 + (iid % 17)}
# EOF
`
}

function dotenv({ id }: SimJob, { sha, iid }: SimPipeline): string {
  return `IMAGE_TAG=${sha.slice(0, 12)}\nVERSION=4.${iid % 40}.${id % 10}\nREGISTRY_PASSWORD=hunter-${sha.slice(12, 20)}\n`
}

function cobertura({ coverage }: SimJob, { sha }: SimPipeline): string {
  const share = (coverage ?? 80) / 100
  const valid = 8_000 + (parseInt(sha.slice(0, 3), 16) % 900)
  const covered = Math.round(valid * share)
  return `<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage line-rate="${share.toFixed(4)}" lines-covered="${covered}" lines-valid="${valid}" branch-rate="${(share * 0.9).toFixed(4)}"><packages/></coverage>
`
}

function sast(_: SimJob, { sha }: SimPipeline): string {
  const code = new Random(parseInt(sha.slice(0, 7), 16))
  const vulnerabilities = ['Critical', 'High', 'Medium', 'Low', 'Low'].flatMap(severity =>
    code.chance(0.4) ? [{ id: code.hex(16), category: 'sast', name: 'A finding', severity }] : [],
  )
  return JSON.stringify({ version: '15.0.7', vulnerabilities, scan: { type: 'sast', status: 'success' } })
}
