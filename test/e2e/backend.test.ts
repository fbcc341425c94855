// Tests exports to backends that are unavailable or overloaded, that reject the token or a pipeline, or that are one of several destinations. Every
// pipeline arrives exactly once.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { startReceiver } from '../support/otlp-receiver.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { Daemon, webhookToken } from './daemon.ts'
import { ResendingSender } from './resending-sender.ts'
import { complete, differences } from './truth.ts'
import { isFull, makeLoad, type Load } from './load.ts'

async function send(daemon: Daemon, { deliveries }: Load): Promise<void> {
  const sender = new ResendingSender({ url: daemon.webhooks, token: webhookToken })
  await sender.sendAll(deliveries)
  await sender.close()
}

/** The response with which the backend rejects a pipeline. */
const refusal = { kind: 'status', status: 400, message: 'attribute too long' } as const

describe('export to a failing backend', () => {
  it('delivers everything exactly once to a backend that is unavailable at first and then responds with 503, 429 and 401', async () => {
    const load = makeLoad({ seed: 40, pipelines: isFull ? 20 : 8, webhooks: 0 })
    const [port = 0] = await freePorts(1)
    const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
    await send(daemon, load)
    await daemon.process.logged(({ reason }) => /ECONNREFUSED|connect/i.test(String(reason)))
    if (isFull) await sleep(60_000)

    const receiver = await startReceiver({ port })
    const misbehave = async (status: number, headers: Record<string, string>, times: number): Promise<void> => {
      receiver.misbehave({ fault: { kind: 'status', status, headers }, times })
      const isIt = (): boolean => receiver.requests.filter(one => one.status === status).length >= times
      await receiver.until(isIt)
    }
    await misbehave(503, { 'retry-after': '1' }, 2)
    await misbehave(429, { 'retry-after': '1' }, 1)
    await misbehave(401, {}, 1)
    await receiver.until(complete(load.truths))
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(differences(load.truths, receiver.spans)).toEqual([])

    // The daemon honours the backend's Retry-After and sends nothing for a second.
    for (const [index, { status, at }] of receiver.requests.entries()) {
      const next = receiver.requests[index + 1]
      if ((status === 503 || status === 429) && next !== undefined) expect(next.at - at).toBeGreaterThan(990)
    }
  })

  it('does not delay other destinations while a backend is down or rejects the token, and sends everything pending once the token file is replaced', async () => {
    const load = makeLoad({ seed: 42, pipelines: 5, webhooks: 0 })
    const [well, [port = 0]] = await Promise.all([startReceiver({ token: 'second' }), freePorts(1)])
    const folder = temporaryFolder()
    const [file, token] = [path.join(folder, 'pipespan.yaml'), path.join(folder, 'token')]
    const second = `{ name: second, endpoint: "${well.url}", token: second, signals: [traces] }`
    writeFileSync(file, `destinations:\n  - ${second}\n`)
    writeFileSync(token, 'old-token\n')
    const daemon = await Daemon.start({
      PIPESPAN_CONFIG: file,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      SERVICE_OBSERVABILITY_TOKEN_FILE: token,
    })
    await send(daemon, load)
    await well.until(complete(load.truths))
    const late = await startReceiver({ port, token: 'new-token' })
    await daemon.process.logged('rejects the credentials')
    expect(late.spans).toEqual([])
    writeFileSync(token, 'new-token\n')
    await late.until(complete(load.truths))
    await daemon.stop()
    expect(differences(load.truths, well.spans)).toEqual([])
    expect(differences(load.truths, late.spans)).toEqual([])
  })

  it('stores a permanently rejected pipeline as a dead letter, which can be listed, shown, retried and dropped', async () => {
    const { deliveries, truths } = makeLoad({ seed: 43, pipelines: 12, webhooks: 0, scenarios: ['small'] })
    const [first, refused, given] = truths
    const receiver = await startReceiver()
    const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    const of = (id: number | undefined) => ({ deliveries: deliveries.filter(one => one.pipelineId === id), truths: [] })
    await send(daemon, of(first?.id))
    await receiver.until(spans => spans.length > 0)
    const poisoned = [refused?.id, given?.id]
    const isPoisoned = (id: unknown): boolean => poisoned.includes(Number(id))
    receiver.misbehave({
      fault: refusal,
      when: ({ spans }) => spans.some(({ attributes }) => isPoisoned(attributes['pipeline.id'])),
    })
    await send(daemon, { deliveries, truths })
    await receiver.until(complete(truths.filter(({ id }) => !isPoisoned(id))))
    const list = async () => {
      const { code, stdout } = await daemon.command('dead-letters', 'list', '--json')
      expect(code).toBe(0)
      return JSON.parse(stdout) as { id: number; pipelineId: number; error: string; status: number }[]
    }
    for (const id of poisoned)
      await daemon.process.logged(one => one.msg.includes('dead letter') && one.pipelineId === id)
    const letters = await list()
    expect(letters.map(({ pipelineId }) => pipelineId).sort()).toEqual(poisoned.sort())
    const [letter, other] = letters
    expect(letter).toMatchObject({ status: 400, error: 'attribute too long' })

    const table = await daemon.command('dead-letters', 'list')
    expect(table.stdout).toMatch(new RegExp(`^${letter?.id} .* ${letter?.pipelineId} .*400 +attribute too long$`, 'm'))
    const shown = await daemon.command('dead-letters', 'show', String(letter?.id))
    expect(shown.stdout).toContain('attribute too long')
    expect(shown.stdout).toContain('"resourceSpans"')

    receiver.behave()
    const retried = await daemon.command('dead-letters', 'retry', String(letter?.id))
    expect(retried).toMatchObject({ code: 0, stdout: expect.stringContaining('1 pending again') as string })
    await receiver.until(complete(truths.filter(({ id }) => id === letter?.pipelineId)))
    expect(await daemon.command('dead-letters', 'drop', '--all')).toMatchObject({ code: 0 })
    expect(await list()).toEqual([])
    expect(await daemon.command('dead-letters', 'show', '4711')).toMatchObject({ code: 1, stdout: '' })
    expect(await daemon.command('dead-letters', 'retry')).toMatchObject({ code: 2, stdout: '' })

    await daemon.stop()
    const without = truths.filter(({ id }) => id !== other?.pipelineId)
    expect(differences(without, receiver.spans)).toEqual([])
  })
})
