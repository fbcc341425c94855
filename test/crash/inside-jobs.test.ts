// The inside of jobs, read by a daemon that is killed again and again: every section and every line arrives, none twice but what a kill left
// unknown on its way to the backend; and what it costs the platform.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/demo/platform/random.ts'
import { answer, startPlatform } from '../platform/rest/platform-server.ts'
import { arrivals, nameLife } from './arrivals.ts'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import type { ReceivedLogRecord } from '../../src/demo/otlp-logs.ts'

const size = isFull
  ? { pipelines: 1_000, jobs: 20, failed: 2, kills: 20 }
  : { pipelines: 30, jobs: 4, failed: 2, kills: 2 }
const patience = isFull ? 900_000 : 300_000
/** Read at the same time: so many reads can the end of a life cut off. */
const places = 4

const erase = '\r\u001b[0K'
const sections = ['prepare_executor', 'get_sources', 'step_script'] as const
const log = [
  ...sections.flatMap(name => [
    `section_start:0:${name}${erase}About ${name}`,
    'a line',
    `section_end:0:${name}${erase}`,
  ]),
  'Job succeeded',
  '',
].join('\n')
const linesOfLog = 2 * sections.length + 1

it(
  'puts out every section and every line of the jobs it is to read once, however often it is killed',
  async () => {
    const random = new Random(8)
    await using platform = await startPlatform((asked, response) => {
      const reply = asked.path.endsWith('/trace')
        ? answer(200, log)
        : answer(200, '[]', { 'content-type': 'application/json' })
      reply(asked, response)
    })
    const receiver = await OtlpReceiver.start()
    onTestFinished(async () => receiver.close())
    receiver.misbehave({ fault: { kind: 'slow' }, delay: 20 })
    let life = 1
    const daemon = await Daemon.start({
      ...nameLife(life),
      ...{
        PIPESPAN_PLATFORM_URL: platform.url,
        PIPESPAN_PLATFORM_TOKEN: 'for-tests-alone',
        PIPESPAN_PLATFORM_BUDGET: '100000',
      },
      ...{ PIPESPAN_JOB_SECTIONS: 'failed', PIPESPAN_JOB_LOGS: 'failed', SERVICE_OBSERVABILITY_EXPORT: 'traces,logs' },
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })
    const post = async (id: number): Promise<void> => {
      const event = JSON.parse(pipelineEvent({ id, jobs: size.jobs, status: 'failed' })) as {
        builds: { status: string }[]
      }
      for (const build of event.builds.slice(0, size.failed)) build.status = 'failed'
      const body = JSON.stringify(event).replaceAll('https://git.example.com', platform.url)
      const headers = { 'x-service-event': 'Pipeline Hook', 'idempotency-key': `pipeline ${id}` }
      // One that got no answer is sent again with its key.
      while ((await daemon.post(body, headers).catch(() => undefined))?.ok !== true) await sleep(50)
    }
    const queue = Array.from({ length: size.pipelines }, (_, index) => index + 1)
    const work = async (): Promise<void> => {
      for (let id: number | undefined; (id = queue.pop()) !== undefined;) await post(id)
    }
    const load = Promise.all([work(), work(), work()])
    for (let kill = 0; kill < size.kills; kill += 1) {
      await sleep(random.between(50, isFull ? 3_000 : 600))
      await daemon.kill()
      await daemon.restart(nameLife((life += 1)))
    }
    await load
    const read = size.pipelines * size.failed
    const inside = <T extends { readonly scope: { readonly name: string } }>(all: readonly T[]): T[] =>
      all.filter(({ scope }) => scope.name === 'pipespan.job')
    const isComplete = (): boolean =>
      new Set(inside(receiver.spans).map(({ spanId }) => spanId)).size >= read * sections.length &&
      new Set(inside(receiver.logs).map(lineOf)).size >= read * linesOfLog
    await receiver.until(isComplete)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })

    const { once, repeated, unexplained } = arrivals(receiver.requests)
    expect(unexplained).toEqual([])
    const own = inside(once)
    expect(own).toHaveLength(read * sections.length)
    const jobs = new Set(once.filter(({ name }) => name.startsWith('job: ')).map(({ spanId }) => spanId))
    expect(jobs.size).toBe(size.pipelines * size.jobs)
    expect(own.every(({ parentSpanId }) => jobs.has(parentSpanId ?? ''))).toBe(true)
    for (const [name, some] of Map.groupBy(receiver.requests, ({ headers }) => String(headers['x-life']))) {
      const lines = inside(some.flatMap(({ logs }) => logs)).map(lineOf)
      expect([name, new Set(lines).size]).toEqual([name, lines.length])
    }
    expect(new Set(inside(receiver.logs).map(lineOf)).size).toBe(read * linesOfLog)

    const asked = platform.asked.filter(({ path }) => path.endsWith('/trace')).length
    expect(asked).toBeGreaterThanOrEqual(read)
    expect(asked).toBeLessThanOrEqual(read + places * size.kills)
    const perPipeline = platform.asked.length / size.pipelines
    if (isFull) report({ kills: size.kills, pipelines: size.pipelines, read, asked, perPipeline, repeated })
  },
  patience,
)

/** Names a line of a job. */
function lineOf({ attributes }: ReceivedLogRecord): string {
  return JSON.stringify([attributes['cicd.pipeline.task.run.id'], attributes['platform.cicd.pipeline.task.log.line']])
}
