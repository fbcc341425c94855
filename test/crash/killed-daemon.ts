// Kills one daemon repeatedly under load, at named moments and at random times, with one store and one backend. Every delivery that got a 2xx
// response must arrive, and nothing may arrive twice, except requests whose outcome was unknown at a kill.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { WebhookSender } from '../../src/simulator/platform/sender.ts'
import { allScenarios } from '../../src/simulator/platform/scenarios.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { generate } from '../support/generate.ts'
import { Daemon, webhookToken } from '../e2e/daemon.ts'
import { complete, differences } from '../e2e/truth.ts'
import { isFull, twice } from '../e2e/load.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { arrivals, numberProcess } from './arrivals.ts'
import { nameOf, type Moment } from './points.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'
import type { PipelineTruth } from '../support/truth.ts'

export type Kill =
  /** The daemon is killed when it reaches the moment for the `nth` time. */
  | { readonly moment: Moment; readonly nth: number }
  /** The daemon is killed this many ms (`after`) after it became ready or was started. */
  | { readonly after: number; readonly since: 'ready' | 'start' }

export interface KilledDaemonOptions {
  /** URL of the store. The default is an SQLite file. */
  readonly storeUrl?: string | undefined
  readonly kills: readonly Kill[]
  readonly seed: number
  /** `moment`: the maximum time until the daemon reaches a moment. `rest`: the maximum time until all remaining data has arrived. Both in ms. */
  readonly timeoutMs: { readonly moment: number; readonly rest: number }
  /** Called before the daemon's last start. On PostgreSQL, it may set the clock forward. */
  readonly beforeLastStart?: (() => Promise<void>) | undefined
}

export interface KilledDaemonFigures {
  readonly kills: number
  readonly pipelines: number
  readonly webhooks: number
  readonly unanswered: number
  readonly deadLetters: number
  readonly repeatedRequests: number
}

const killSwitchOf = (storeUrl: string | undefined): string =>
  new URL(storeUrl === undefined ? 'kill-switch.ts' : 'kill-switch-postgres.ts', import.meta.url).href
/** The lowest ID of the pipelines that the backend rejects. It is far from all other IDs. */
const firstRejected = 900_000_000
const senders = 6
/** Pause of each sender between deliveries, ms. */
const pause = isFull ? 5 : 80

/**
 * Starts and kills the daemon as specified, then lets it run to the end, and compares the telemetry that arrived with what happened on the platform.
 */
export async function runWithKills(options: KilledDaemonOptions): Promise<KilledDaemonFigures> {
  const { kills, seed, timeoutMs } = options
  const random = new Random(seed)
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const isRefused = (id: unknown): boolean => Number(id) >= firstRejected
  receiver.misbehave({
    fault: { kind: 'status', status: 400, message: 'not this one' },
    when: ({ spans }) => spans.some(({ attributes }) => isRefused(attributes['cicd.pipeline.run.id'])),
  })
  const [port = 0] = await freePorts(1)

  const families = generate({ seed, scenarios: allScenarios, pipelines: Infinity })
  const truths: PipelineTruth[] = []
  const queue: Delivery[] = []
  /** Returns the next delivery of an endless load. Each delivery is sent twice, in random order among the deliveries of a few pipeline families. */
  function draw(): Delivery {
    if (queue.length === 0) {
      const some = Array.from({ length: 4 }, () => families.next().value ?? { deliveries: [], pipelines: [] })
      truths.push(...some.flatMap(({ pipelines }) => pipelines))
      const own = twice(
        some.flatMap(({ deliveries }) => deliveries),
        random.between(0, 1e9),
      )
      queue.push(...random.shuffle([...own, undecodableDelivery(random)]))
    }
    return queue.pop() ?? draw()
  }

  const refused = new Set<number>()
  const sender = closeAfterTest(
    new WebhookSender({
      url: `http://127.0.0.1:${port}/webhooks`,
      token: webhookToken,
      concurrency: senders,
      onSent: (delivery, outcome) => {
        // A delivery that was not acknowledged, perhaps because the store could not be written in time, is sent again with the same key, like with
        // the platform's resend button.
        if (outcome.kind === 'failed' || outcome.status === 503) {
          queue.push(delivery)
          return
        }
        expect(outcome.status).toBeLessThan(300)
        if (isRefused(delivery.pipelineId)) refused.add(delivery.pipelineId)
      },
    }),
  )
  let isUp = false
  const feed = async (): Promise<void> => {
    await Promise.all(
      Array.from({ length: senders }, async () => {
        while (isUp) {
          await sender.send(draw())
          // Only the body shows that this delivery is not about a pipeline, because all system hooks have the same header. The test does not resend
          // it, so it may get lost.
          if (random.chance(0.1))
            await daemon?.post('{"object_kind":"note"}', { 'x-service-event': 'System Hook' }).catch(() => undefined)
          await sleep(pause)
        }
      }),
    )
  }

  let processNumber = 0
  let daemon: Daemon | undefined
  const deadLetterIds = new Set<number>()
  async function collectDeadLetters(): Promise<void> {
    const { stdout } = (await daemon?.command('dead-letters', 'list', '--json')) ?? { stdout: '[]' }
    for (const { pipelineId } of JSON.parse(stdout) as { pipelineId: number }[]) deadLetterIds.add(pipelineId)
  }
  /** Waits until every pipeline that the backend rejects has become a dead letter. */
  async function allAreDeadLetters(): Promise<void> {
    const isAll = async (): Promise<boolean> => {
      await collectDeadLetters()
      return [...refused].every(id => deadLetterIds.has(id))
    }
    await expect.poll(isAll, { timeout: timeoutMs.rest, interval: 300 }).toBe(true)
  }
  /**
   * Starts the daemon, waits until every rejected pipeline is a dead letter, and stops the daemon normally. The next process could prune a later dead
   * letter before the test sees it. The stopped daemon releases the maintenance lease, so that the next process prunes immediately.
   */
  async function runAndStop(): Promise<void> {
    isUp = await startNext(undefined)
    expect(isUp).toBe(true)
    const feeding = feed()
    const before = receiver.counts.requests
    await receiver.until(() => receiver.counts.requests > before, timeoutMs.moment)
    await allAreDeadLetters()
    isUp = false
    await feeding
    expect(await daemon?.stop()).toEqual({ code: 0, signal: null })
  }
  async function startNext(kill: Kill | undefined): Promise<boolean> {
    processNumber += 1
    const moment = kill !== undefined && 'moment' in kill ? kill.moment : undefined
    const env = {
      ...numberProcess(processNumber),
      CRASH_AT: moment && nameOf(moment),
      CRASH_NTH: kill !== undefined && 'nth' in kill ? String(kill.nth) : undefined,
      PIPESPAN_RETENTION: moment?.point.needs === 'a short retention' ? '1ms' : '7d',
    }
    if (daemon !== undefined) return daemon.startAgain(env)
    daemon = Daemon.launch(
      {
        ...env,
        PIPESPAN_LISTEN: `127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        ...(options.storeUrl === undefined ? {} : { PIPESPAN_STORE_URL: options.storeUrl }),
      },
      ['--import', killSwitchOf(options.storeUrl)],
    )
    return daemon.becomesReady()
  }
  /** Kills the daemon at a random time, or waits until the kill switch has killed it. */
  async function untilKilled(kill: Kill): Promise<void> {
    if (daemon === undefined) return
    const { process } = daemon
    if ('after' in kill) {
      await sleep(kill.after)
      await daemon.kill()
      return
    }
    const name = nameOf(kill.moment)
    const late = AbortSignal.timeout(timeoutMs.moment)
    const ended = await Promise.race([
      process.ended,
      sleep(timeoutMs.moment, undefined, { signal: late }).catch(() => undefined),
    ])
    if (ended === undefined)
      throw new Error(`The daemon did not reach this moment within ${timeoutMs.moment} ms: ${name}`)
    const lastOutput = process.stderr.slice(-1_000)
    expect(lastOutput).toContain(`killed ${name}\n`)
    expect(ended).toMatchObject({ signal: 'SIGKILL' })
  }

  for (const kill of kills) {
    const needs = 'moment' in kill ? kill.moment.point.needs : undefined
    if (needs === 'a short retention') await runAndStop()
    const recover =
      needs === 'an overloaded backend'
        ? receiver.misbehave({
            fault: { kind: 'status', status: 503, headers: { 'retry-after': '0' }, message: 'HTTP 503' },
          })
        : undefined
    if ('since' in kill && kill.since === 'start') {
      const started = startNext(undefined)
      await untilKilled(kill)
      await started
    } else {
      isUp = await startNext(kill)
      const feeding = feed()
      if (needs === 'a refused pipeline' && isUp) queue.push(rejectedDelivery(firstRejected + processNumber))
      await untilKilled(kill)
      isUp = false
      await feeding
    }
    recover?.()
  }

  await options.beforeLastStart?.()
  isUp = await startNext(undefined)
  expect(isUp).toBe(true)
  // The daemon does not trust rejections from a backend that has accepted nothing yet. The feed makes the backend accept something first.
  const feeding = feed()
  await allAreDeadLetters()
  isUp = false
  await feeding
  while (queue.length > 0) await sender.sendAll(queue.splice(0))
  await receiver.until(complete(truths))
  expect(await daemon?.stop()).toEqual({ code: 0, signal: null })

  const { once, repeated, unexplained } = arrivals(receiver.requests)
  expect(differences(truths, once)).toEqual([])
  expect(unexplained).toEqual([])
  return {
    kills: kills.length,
    pipelines: truths.length,
    webhooks: sender.counts.sent,
    unanswered: sender.counts.failed,
    deadLetters: deadLetterIds.size,
    repeatedRequests: repeated,
  }
}

function undecodableDelivery(random: Random): Delivery {
  const body = '{"object_kind":"pipeline","object_attributes":{"id":"no number"}}'
  return { kind: 'pipeline', at: 0, pipelineId: 0, jobId: undefined, key: random.uuid(), body }
}

function rejectedDelivery(id: number): Delivery {
  return {
    kind: 'pipeline',
    at: 0,
    pipelineId: id,
    jobId: undefined,
    key: `refused-${id}`,
    body: pipelineEvent({ id }),
  }
}
