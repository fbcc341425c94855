// Runs one store, one backend, and a daemon that is killed repeatedly under load, at named moments and at random times. Every delivery that got a 2xx
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
import { arrivals, nameLife } from './arrivals.ts'
import { nameOf, type Moment } from './points.ts'
import type { Delivery } from '../../src/simulator/platform/delivery.ts'
import type { PipelineTruth } from '../support/truth.ts'

export type Death =
  /** `nth`: the occurrence of the moment at which the daemon dies. */
  | { readonly moment: Moment; readonly nth: number }
  /** `after`: the time until the daemon is killed, ms. It is measured from the moment at which the daemon became ready or was started. */
  | { readonly after: number; readonly since: 'ready' | 'start' }

export interface TrackOptions {
  /** URL of the store. If undefined, SQLite is used. */
  readonly storeUrl?: string | undefined
  readonly deaths: readonly Death[]
  readonly seed: number
  /** Maximum time until a moment is reached, and maximum time until all remaining data has arrived, ms. */
  readonly timeoutMs: { readonly moment: number; readonly rest: number }
  /** Called before the daemon's last life. On PostgreSQL, it may set the clock forward. */
  readonly beforeLast?: (() => Promise<void>) | undefined
}

export interface TrackFigures {
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
const firstRefused = 900_000_000
const senders = 6
/** Pause of each sender between deliveries, ms. */
const pause = isFull ? 5 : 80

/** Starts and kills the daemon as specified, finally lets it run, and compares what arrived with what happened. */
export async function dieAndLive(options: TrackOptions): Promise<TrackFigures> {
  const { deaths, seed, timeoutMs } = options
  const random = new Random(seed)
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const isRefused = (id: unknown): boolean => Number(id) >= firstRefused
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
      queue.push(...random.shuffle([...own, anUnreadableOne(random)]))
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
        // A delivery that was not acknowledged, perhaps because the store could not be written in time, is sent again with its key, as with the
        // platform's resend button.
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
          // A delivery whose body, but not its header, shows that it is not about a pipeline. It may get lost.
          if (random.chance(0.1))
            await daemon?.post('{"object_kind":"note"}', { 'x-service-event': 'System Hook' }).catch(() => undefined)
          await sleep(pause)
        }
      }),
    )
  }

  let life = 0
  let daemon: Daemon | undefined
  const letters = new Set<number>()
  async function collectLetters(): Promise<void> {
    const { stdout } = (await daemon?.command('dead-letters', 'list', '--json')) ?? { stdout: '[]' }
    for (const { pipelineId } of JSON.parse(stdout) as { pipelineId: number }[]) letters.add(pipelineId)
  }
  /** Waits until every pipeline that the backend rejects is a dead letter. */
  async function allRefused(): Promise<void> {
    const isAll = async (): Promise<boolean> => {
      await collectLetters()
      return [...refused].every(id => letters.has(id))
    }
    await expect.poll(isAll, { timeout: timeoutMs.rest, interval: 300 }).toBe(true)
  }
  /**
   * Ends a life normally. It leaves no pipeline that would become a dead letter later, because the next life could prune the dead letter unseen. It
   * releases the maintenance lease, so that the next life prunes immediately.
   */
  async function restInPeace(): Promise<void> {
    isUp = await born(undefined)
    expect(isUp).toBe(true)
    const fed = feed()
    const before = receiver.counts.requests
    await receiver.until(() => receiver.counts.requests > before, timeoutMs.moment)
    await allRefused()
    isUp = false
    await fed
    expect(await daemon?.stop()).toEqual({ code: 0, signal: null })
  }
  async function born(death: Death | undefined): Promise<boolean> {
    life += 1
    const moment = death !== undefined && 'moment' in death ? death.moment : undefined
    const env = {
      ...nameLife(life),
      CRASH_AT: moment && nameOf(moment),
      CRASH_NTH: death !== undefined && 'nth' in death ? String(death.nth) : undefined,
      PIPESPAN_RETENTION: moment?.point.needs === 'a short retention' ? '1ms' : '7d',
    }
    if (daemon !== undefined) return daemon.revive(env)
    daemon = Daemon.launch(
      {
        ...env,
        PIPESPAN_LISTEN: `127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        ...(options.storeUrl === undefined ? {} : { PIPESPAN_STORE_URL: options.storeUrl }),
      },
      ['--import', killSwitchOf(options.storeUrl)],
    )
    return daemon.lives()
  }
  /** Waits until the daemon is dead. */
  async function untilDead(death: Death): Promise<void> {
    if (daemon === undefined) return
    const { process } = daemon
    if ('after' in death) {
      await sleep(death.after)
      await daemon.kill()
      return
    }
    const name = nameOf(death.moment)
    const late = AbortSignal.timeout(timeoutMs.moment)
    const isDead = await Promise.race([
      process.ended,
      sleep(timeoutMs.moment, undefined, { signal: late }).catch(() => undefined),
    ])
    if (isDead === undefined) throw new Error(`Never reached within ${timeoutMs.moment} ms: ${name}`)
    const lastWords = process.stderr.slice(-1_000)
    expect(lastWords).toContain(`killed ${name}\n`)
    expect(isDead).toMatchObject({ signal: 'SIGKILL' })
  }

  for (const death of deaths) {
    const needs = 'moment' in death ? death.moment.point.needs : undefined
    if (needs === 'a short retention') await restInPeace()
    const recover =
      needs === 'an overloaded backend'
        ? receiver.misbehave({
            fault: { kind: 'status', status: 503, headers: { 'retry-after': '0' }, message: 'HTTP 503' },
          })
        : undefined
    if ('since' in death && death.since === 'start') {
      const birth = born(undefined)
      await untilDead(death)
      await birth
    } else {
      isUp = await born(death)
      const fed = feed()
      if (needs === 'a refused pipeline' && isUp) queue.push(aRefusedOne(firstRefused + life))
      await untilDead(death)
      isUp = false
      await fed
    }
    recover?.()
  }

  await options.beforeLast?.()
  isUp = await born(undefined)
  expect(isUp).toBe(true)
  // The daemon does not trust rejections from a backend that has not accepted anything yet, so the backend first gets something that it accepts.
  const fed = feed()
  await allRefused()
  isUp = false
  await fed
  while (queue.length > 0) await sender.sendAll(queue.splice(0))
  await receiver.until(complete(truths))
  expect(await daemon?.stop()).toEqual({ code: 0, signal: null })

  const { once, repeated, unexplained } = arrivals(receiver.requests)
  expect(differences(truths, once)).toEqual([])
  expect(unexplained).toEqual([])
  return {
    kills: deaths.length,
    pipelines: truths.length,
    webhooks: sender.counts.sent,
    unanswered: sender.counts.failed,
    deadLetters: letters.size,
    repeatedRequests: repeated,
  }
}

function anUnreadableOne(random: Random): Delivery {
  const body = '{"object_kind":"pipeline","object_attributes":{"id":"no number"}}'
  return { kind: 'pipeline', at: 0, pipelineId: 0, jobId: undefined, key: random.uuid(), body }
}

function aRefusedOne(id: number): Delivery {
  return {
    kind: 'pipeline',
    at: 0,
    pipelineId: id,
    jobId: undefined,
    key: `refused-${id}`,
    body: pipelineEvent({ id }),
  }
}
