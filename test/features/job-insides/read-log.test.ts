// Tests how job logs are read: for which jobs, how much of each log, and what each line is exported as. The logs are served over HTTP by a platform
// that returns arbitrary logs.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLogReading } from '../../../src/features/job-insides/read-log.ts'
import { insideCounters } from '../../../src/features/job-insides/counts.ts'
import { createReadLog } from '../../../src/platform/job-log/read-log.ts'
import { createSlowness } from '../../../src/core/complete/usual-duration.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { jobReadStep, type JobReadRules } from '../../../src/features/job-insides/job-reads.ts'
import { answer, clientOf, startPlatform, type PlatformServer } from '../../platform/rest/platform-server.ts'
import { instance, minute, t0 } from '../../flow/world.ts'
import { binOf } from '../../../src/lib/log-bins.ts'
import type { Chunk, JobSnapshot } from '../../../src/model/chunk.ts'
import type { JobInside, LogLine } from '../../../src/model/inside.ts'
import type { Run } from '../../../src/model/run.ts'
import type { RestClient } from '../../../src/platform/rest/client.ts'
import type { InsideRules } from '../../../src/platform/port/inside.ts'
import type { JobRead } from '../../../src/features/job-insides/queue.ts'
import type { LogReadingOptions } from '../../../src/features/job-insides/read-log.ts'
import type { PastDurations } from '../../../src/core/store/ports/reporter.ts'

const erase = '\r\u001b[0K'
const nothing: JobReadRules = { sections: [], lines: [], tests: false, reports: [], spans: false, project: () => true }

const job: JobSnapshot = {
  ...{ id: 1, kind: 'job', name: 'unit', status: 'failed', failureReason: 'script_failure', retried: false },
  ...{ startedAt: t0, finishedAt: t0 + minute, start: t0, end: t0 + minute },
}
const chunk = {
  ...{ key: { instance, pipelineId: 7 }, project: { id: 3, path: 'acme/shop' }, attempt: 1, number: 1 },
  ...{ kind: 'attempt', trace: { scheme: 'instance', profile: 'generic', rootPipelineId: 7 }, jobs: [job] },
  pipeline: { facts: { status: 'failed' }, start: t0, end: t0 + minute, incomplete: false, failures: [], jobCount: 1 },
} satisfies Chunk
const asked: JobRead = {
  run: 1,
  attempt: 1,
  number: 1,
  jobId: 1,
  what: 'log',
  tries: 1,
  pendingSince: t0,
  takenAt: t0,
  chunk,
}

type Options = Partial<LogReadingOptions & InsideRules>

describe('reading a single log', () => {
  let platform: PlatformServer
  let close: () => Promise<void>
  let client: RestClient

  beforeEach(async () => {
    platform = await startPlatform(answer(200, ''))
    const made = clientOf(platform.url)
    client = made.client
    close = async () => made.client.close()
  })
  afterEach(async () => {
    await close()
    await platform[Symbol.asyncDispose]()
  })

  const readingOf = ({ readMax = 2 ** 20, linesMax = 2 ** 20, ...options }: Options = {}) => {
    const counters = insideCounters()
    const read = createLogReading({
      counters,
      readLog: createReadLog(client, { redactText: createTextRedaction([]), readMax, linesMax }),
      ...{ sections: [], lines: ['all'], isSlow: async () => false, ...options },
    })
    return { read, counters }
  }
  async function insides(log: string, options: Options = {}): Promise<readonly JobInside[]> {
    platform.reply = answer(200, log)
    const reading = await readingOf(options).read(asked, job, { priority: 'inside' })
    return reading.as === 'read' ? reading.insides : []
  }
  const linesOf = async (log: string, options: Options = {}): Promise<readonly LogLine[]> =>
    (await insides(log, options)).flatMap(({ lines = [] }) => lines)

  it('exports the beginning and the end of a long log, with a record of how much is missing in between', async () => {
    const linesMax = 64 * 1024
    const lines = await linesOf(Array.from({ length: 5_000 }, (_, at) => `${at} ${'x'.repeat(100)}\n`).join(''), {
      linesMax,
    })
    const note = lines.findIndex(({ text }) => text.startsWith('['))
    const [, missing = '', bytes = ''] =
      /^\[(\d+) lines of the log are left out here: (\d+) bytes\]$/.exec(lines[note]?.text ?? '') ?? []
    expect(lines.length - 1 + Number(missing)).toBe(5_000)
    const size = (some: readonly LogLine[]): number => some.reduce((sum, { text }) => sum + text.length, 0)
    expect(size(lines.slice(0, note))).toBeGreaterThan(linesMax / 16 - 200)
    expect(size(lines.slice(0, note))).toBeLessThanOrEqual(linesMax / 16)
    expect(size(lines.slice(note + 1))).toBeLessThanOrEqual((linesMax * 15) / 16)
    expect(size(lines) - (lines[note]?.text.length ?? 0) + Number(bytes)).toBe(
      Array.from({ length: 5_000 }, (_, at) => String(at).length + 101).reduce((sum, one) => sum + one, 0),
    )
    expect(lines.at(-1)?.number).toBe(5_000)
  })

  it('exports log lines of at most 16 KiB, and truncates longer ones between characters', async () => {
    const [line] = await linesOf(`${'é'.repeat(30_000)}\n`)
    expect(Buffer.byteLength(line?.text ?? '')).toBeLessThanOrEqual(16 * 1024)
    expect(Buffer.byteLength(line?.text ?? '')).toBeGreaterThan(16 * 1024 - 4)
    expect(line?.text).toMatch(/^é+…?$/)
  })

  it('reads a log a second time if it looks unfinished, unless its job was canceled', async () => {
    platform.reply = answer(200, 'compiling\n')
    const read = async (status: JobSnapshot['status']): Promise<string> =>
      (await readingOf().read({ ...asked, tries: 0 }, { ...job, status }, { priority: 'inside' })).as
    expect([await read('success'), await read('failed'), await read('canceled')]).toEqual(['early', 'early', 'read'])
  })

  it("exports no lines of a log that shows the job's variables, but still exports its sections as spans", async () => {
    const log = `section_start:${t0 / 1_000}:step_script${erase}\nexport CI_JOB_ID=1\nexport CI_JOB_TOKEN=x\nexport CI_COMMIT_SHA=y\nsecret\n`
    const reading = readingOf({ sections: ['all'] })
    platform.reply = answer(200, log)
    const found = await reading.read(asked, job, { priority: 'inside' })
    expect(found).toMatchObject({ as: 'read', insides: [{ sections: [{ name: 'step_script' }] }] })
    expect(JSON.stringify(found)).not.toContain('secret')
    expect(reading.counters).toMatchObject({ cutLogs: { debug_trace: 1 }, lines: { true: 0 } })
  })

  it('exports no log lines of a pipeline with debug trace, and fetches no log unless its sections are exported', async () => {
    const traced = {
      ...chunk,
      pipeline: { ...chunk.pipeline, facts: { ...chunk.pipeline.facts, isDebugTraced: true } },
    } as const
    const log = `section_start:${t0 / 1_000}:step_script${erase}\nsecret\n`
    platform.reply = answer(200, log)
    const lines = readingOf()
    expect(await lines.read({ ...asked, chunk: traced }, job, { priority: 'inside' })).toEqual({ as: 'needless' })
    expect([platform.asked, lines.counters.cutLogs.debug_trace]).toEqual([[], 1])
    const both = readingOf({ sections: ['all'] })
    const found = await both.read({ ...asked, chunk: traced }, job, { priority: 'inside' })
    expect(found).toMatchObject({ as: 'read', insides: [{ sections: [{ name: 'step_script' }] }] })
    expect(JSON.stringify(found)).not.toContain('secret')
    expect(both.counters).toMatchObject({ cutLogs: { debug_trace: 1 }, lines: { true: 0 } })
  })

  it('requests logs only of slow jobs if only slow jobs are selected', async () => {
    const isSlow = { value: false }
    const reading = readingOf({ sections: ['slow'], lines: [], isSlow: async () => isSlow.value })
    expect(await reading.read(asked, job, { priority: 'inside' })).toEqual({ as: 'needless' })
    expect(platform.asked).toEqual([])
    isSlow.value = true
    platform.reply = answer(200, `section_start:${t0 / 1_000}:step_script${erase}\n`)
    expect(await reading.read(asked, job, { priority: 'inside' })).toMatchObject({ as: 'read', insides: [{}] })
  })
})

describe('the selection of jobs whose logs are read', () => {
  const read = (rules: Partial<JobReadRules>, more: Partial<JobSnapshot> = {}): unknown => {
    const of = { run: {} as Run, isSent: true }
    const step = jobReadStep({ ...nothing, ...rules })
    return step.onSnapshot?.({ ...chunk, jobs: [{ ...job, ...more }] }, of).flatMap(({ reports }) => reports)
  }

  it('reads the logs of selected jobs in selected projects, if they ran', () => {
    const log = [{ key: chunk.key, attempt: 1, number: 1, jobId: 1, what: 'log' }]
    expect(read({})).toBeUndefined()
    expect(read({ lines: ['failed'] })).toEqual(log)
    expect(read({ lines: ['failed'] }, { status: 'success' })).toEqual([])
    expect(read({ sections: ['slow'] }, { status: 'success' })).toEqual(log)
    expect(read({ sections: ['all'] }, { startedAt: undefined })).toEqual([])
    expect(read({ sections: ['all'] }, { kind: 'bridge' })).toEqual([])
    expect(read({ sections: ['all'], project: path => path !== 'acme/shop' })).toEqual([])
  })
})

it('treats a job as slow if it took longer than 95 % of its runs in the last thirty days, if there are at least twenty', async () => {
  const asked: unknown[] = []
  let runs = 19
  const of: PastDurations['of'] = async (...question) => {
    asked.push(question)
    return { [binOf(50_000)]: runs }
  }
  const slow = async (ms: number): Promise<boolean> => createSlowness({ of }, () => t0)(chunk, { ...job, end: t0 + ms })
  expect(await slow(900_000)).toBe(false)
  runs = 20
  expect(await slow(900_000)).toBe(true)
  expect(await slow(30_000)).toBe(false)
  expect(asked[0]).toEqual([{ instance, projectId: 3, job: 'unit' }, 30])
})
