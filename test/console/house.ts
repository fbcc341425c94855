// Starts a complete daemon with its pages in this process, on its own ports, between a simulated platform and an OTLP receiver.
import { countFigures } from '../support/counted-figures.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { generate } from '../support/generate.ts'
import { loadConfig } from '../../src/daemon/configuration/load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { ResendingSender } from '../e2e/resending-sender.ts'
import { silentLog } from '../../src/lib/log.ts'
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts'
import type { ConfigStatus } from '../../src/console/sources/setup-shape.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'
import { features } from '../../src/features.ts'
import type { ScenarioName } from '../../src/simulator/platform/scenarios.ts'

export interface House {
  readonly daemon: Daemon
  readonly receiver: OtlpReceiver
  /** The base URL of the pages. */
  readonly url: string
  /** The path of the store's file. */
  readonly file: string
  /** Sends webhooks in order, and waits until they are processed. */
  deliver(deliveries: readonly Delivery[]): Promise<void>
  /** Sends one webhook, which must be accepted. */
  post(body: string, event?: string): Promise<void>
  /** Sends the webhooks of whole pipeline families, and waits until they are exported. */
  live(scenarios: readonly [ScenarioName, ...ScenarioName[]], options?: LiveOptions): Promise<void>
  close(): Promise<void>
}

export interface LiveOptions {
  readonly families?: number
  readonly seed?: number
  readonly start?: number
  readonly pause?: number
}

const secret = 'a-webhook-token'

/** Starts the daemon. `yaml`: the content of its configuration file. */
export async function openHouse(env: NodeJS.ProcessEnv = {}, yaml?: string): Promise<House> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-pages-'))
  const file = path.join(folder, 'p.db')
  const configuration = path.join(folder, 'pipespan.yaml')
  if (yaml !== undefined) writeFileSync(configuration, yaml)
  const receiver = await OtlpReceiver.start()
  const loaded = loadConfig({
    profiles,
    features,
    env: {
      PIPESPAN_LISTEN: '127.0.0.1:0',
      PIPESPAN_ADMIN_LISTEN: '127.0.0.1:0',
      PIPESPAN_STORE_URL: `sqlite:${file}`,
      PIPESPAN_WEBHOOK_TOKEN: secret,
      PIPESPAN_SETTLE: '50ms',
      PIPESPAN_BLOCKED_AFTER: '100ms',
      PIPESPAN_TRACE_LINK: 'https://traces.example.com/trace/{traceId}',
      SERVICE_OBSERVABILITY_EXPORT: 'traces',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      ...(yaml !== undefined && { PIPESPAN_CONFIG: configuration }),
      ...env,
    },
  })
  if (!loaded.ok) throw new Error(loaded.faults.map(fault => fault.what).join(' '))
  const since = Date.now()
  const configStatus = (): ConfigStatus => ({
    ...{ digest: '0123456789ab', since, restart: [], reloads: { applied: 0, refused: 0 } },
  })
  const daemon = await startDaemon({ config: loaded.config, features, log: silentLog(), configStatus })
  const senders: ResendingSender[] = []
  const house: House = {
    daemon,
    receiver,
    url: daemon.adminUrl,
    file,
    deliver: async deliveries => {
      const sender = new ResendingSender({ url: `${daemon.url}/webhooks`, token: secret, concurrency: 1 })
      senders.push(sender)
      await sender.sendAll(deliveries)
    },
    post: async (body, event = 'Pipeline Hook') => {
      const headers = { 'content-type': 'application/json', 'x-service-event': event, 'x-service-token': secret }
      const { status } = await fetch(`${daemon.url}/webhooks`, { method: 'POST', body, headers })
      if (status !== 202) throw new Error(`The response to the webhook was ${status}.`)
    },
    live: async (scenarios, { families = scenarios.length, ...options } = {}) => {
      for (const { deliveries } of generate({
        ...{ seed: 3, start: Date.now() - 24 * 3_600_000 },
        ...{ scenarios, pipelines: families },
        ...options,
      })) {
        await house.deliver(deliveries)
      }
      await until(async () => {
        const { open } = await daemon.store.runs.count()
        const queues = await daemon.exporter.status()
        return open === 0 && queues.every(queue => queue.pending === 0)
      })
      await countFigures(daemon.store)
    },
    close: async () => {
      await Promise.all(senders.map(async sender => sender.close()))
      await daemon.stop(1_000)
      await receiver.close()
      rmSync(folder, { recursive: true })
    },
  }
  return house
}

export async function until(holds: () => Promise<boolean>, within = 180_000): Promise<void> {
  const deadline = Date.now() + within
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('the expected state was not reached in time')
    await new Promise(resolve => setTimeout(resolve, 25))
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** Sends a request with arbitrary headers. `fetch` does not allow a test to set the Host header. */
export async function ask(
  url: string,
  { body, method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { connection: 'close', ...headers } }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }))
    })
    sent.on('error', reject).end(body)
  })
}

interface WebhookJob {
  readonly name: string
  readonly stage?: string
  readonly status?: string
  /** When the job started, in seconds after its pipeline began. `to`: when it ended; undefined while it is running. */
  readonly from?: number
  readonly to?: number | undefined
  readonly queued?: number
}

export interface WebhookOptions {
  readonly id: number
  /** When the pipeline was created, Unix time in ms. */
  readonly begun?: number
  /** Duration of the pipeline in seconds; undefined if it has not ended. */
  readonly took?: number | undefined
  readonly project?: { readonly id: number; readonly path: string }
  readonly jobs?: readonly WebhookJob[]
  /** Pipeline attributes that are added to the default ones or override them. */
  readonly attributes?: object
  /** Additional fields for the webhook body. */
  readonly more?: object
}

/** The body of a webhook about a pipeline. By default it ran on `main` and passed. */
export function pipelineWebhook({
  id,
  begun = Date.now() - 3_600_000,
  took = 60,
  project = { id: 3, path: 'acme/shop' },
  jobs = [],
  attributes,
  more,
}: WebhookOptions): string {
  const at = (seconds: number | undefined): string | undefined =>
    seconds === undefined ? undefined : new Date(begun + seconds * 1_000).toISOString()
  const web = `https://git.example.com/${project.path}`
  return JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: {
      ...{ id, ref: 'main', status: 'success', source: 'push', url: `${web}/-/pipelines/${id}` },
      ...{ created_at: at(0), finished_at: at(took), ...attributes },
    },
    project: {
      ...{ id: project.id, name: project.path.split('/').at(-1), path_with_namespace: project.path },
      ...{ web_url: web, default_branch: 'main' },
    },
    builds: jobs.map(({ name, stage = 'test', status = 'success', from = 0, to, queued }, index) => ({
      ...{ id: id * 100 + index, name, stage, status, queued_duration: queued },
      ...{ created_at: at(0), started_at: at(from), finished_at: at(to) },
    })),
    ...more,
  })
}
