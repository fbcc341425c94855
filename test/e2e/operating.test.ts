// Tests how an operator works with a running daemon: inspecting deliveries that could not be decoded, and running the daemon behind a reverse proxy.
import { createServer, request as httpRequest } from 'node:http'
import { describe, expect, it } from 'vitest'
import { closeAfterTest, listen } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { Daemon, webhookToken } from './daemon.ts'
import { complete, differences } from './truth.ts'
import { makeLoad } from './load.ts'

describe('pipespan inbox', () => {
  it('lists, shows and retries deliveries that could not be decoded, while the daemon runs', async () => {
    const daemon = await Daemon.start()
    const listed = async () => {
      const { code, stdout } = await daemon.command('inbox', 'list', '--json')
      expect(code).toBe(0)
      return JSON.parse(stdout) as { quarantined: { id: number; reason: string; event: string }[] }
    }
    expect((await daemon.command('inbox', 'list')).stdout).toMatch(/^0 could not be decoded/)
    const variables = [{ key: 'PASSWORD', value: 'hunter-2' }]
    await daemon.post(JSON.stringify({ object_kind: 'pipeline', object_attributes: { variables } }))
    await daemon.process.logged('a delivery is quarantined')
    const { quarantined } = await listed()
    expect(quarantined).toEqual([
      expect.objectContaining({ event: 'Pipeline Hook', reason: expect.any(String) as string }),
    ])
    const id = String(quarantined[0]?.id)

    const table = await daemon.command('inbox', 'list')
    expect(table.stdout).toContain(quarantined[0]?.reason)
    const shown = await daemon.command('inbox', 'show', id)
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toContain('"object_kind": "pipeline"')
    expect(shown.stdout).not.toContain('hunter-2')

    expect(await daemon.command('inbox', 'retry', '--all')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 will be decoded again/) as string,
    })
    // The delivery cannot be decoded at the retry either, so it is quarantined again.
    const timesNotDecoded = (): number =>
      daemon.process.log.filter(({ msg }) => msg.includes('a delivery is quarantined')).length
    await daemon.process.logged(() => timesNotDecoded() === 2)
    expect((await listed()).quarantined).toHaveLength(1)
    expect(await daemon.command('inbox', 'show', '4711')).toMatchObject({ code: 1, stdout: '' })
    expect(await daemon.command('inbox', 'retry')).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('a daemon behind a reverse proxy', () => {
  it("serves only the base path and the health checks behind a proxy, and trusts the proxy's headers only if configured", async () => {
    const { deliveries, truths } = makeLoad({ seed: 60, pipelines: 3, webhooks: 0, scenarios: ['small'] })
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const daemon = await Daemon.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      PIPESPAN_BASE_PATH: '/ci/pipespan',
      PIPESPAN_TRUST_PROXY: 'true',
    })
    const proxy = await startProxy(new URL(daemon.url).port)
    const post = async (url: string, body: string, token = webhookToken): Promise<number> => {
      const headers = { 'content-type': 'application/json', 'x-service-token': token }
      return (await fetch(url, { method: 'POST', headers, body })).status
    }
    for (const { body } of deliveries) expect(await post(`${proxy}/ci/pipespan/webhooks`, body)).toBe(202)
    expect(await post(`${proxy}/webhooks`, '{}')).toBe(404)
    expect((await fetch(`${proxy}/ci/pipespan/readyz`)).status).toBe(200)
    expect((await fetch(`${proxy}/readyz`)).status).toBe(200)
    expect(await post(`${proxy}/ci/pipespan/webhooks`, '{}', 'guess')).toBe(401)
    expect(await daemon.process.logged('delivery refused')).toMatchObject({ remote: '203.0.113.7' })
    await receiver.until(complete(truths))
    await daemon.stop()
    expect(differences(truths, receiver.spans)).toEqual([])
  })
})

/** Starts a proxy that forwards every request as if it came from 203.0.113.7. */
async function startProxy(port: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const { method, url: path } = incoming
    const headers = { ...incoming.headers, 'x-forwarded-for': '203.0.113.7' }
    // Each request uses a new connection, because the daemon might close a kept-alive one in the meantime.
    const onward = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(onward)
  })
  return `http://127.0.0.1:${await listen(server)}`
}
