import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { Backend, ok, type Received, type Reply } from './backend.ts'
import { destination, queueOf, listeningLog, openBench, maxWaitMs, range, sorted, type Bench } from './bench.ts'
import { Secret } from '../../../src/lib/secret.ts'
import type { Bearer } from '../../../src/core/send/destination.ts'

/** A bearer token in a file. `current` returns a changed token only after the file has been reloaded, as on a slow mount. */
class TokenFile implements Bearer {
  reads = 0
  #file: string | undefined
  #known: string | undefined

  constructor(token: string | undefined) {
    this.#file = token
    this.#known = token
  }

  write(token: string): void {
    this.#file = token
  }

  current(): Secret | undefined {
    return this.#known === undefined ? undefined : new Secret(this.#known)
  }

  async reload(): Promise<boolean> {
    this.reads += 1
    const changed = this.#file !== this.#known
    this.#known = this.#file
    return changed
  }
}

describe("a destination's credentials", () => {
  let bench: Bench
  let backend: Backend
  let valid: string

  const refusing =
    (status: number) =>
    (request: Received): Reply =>
      request.headers.authorization === `Bearer ${valid}`
        ? ok
        : { status, body: `not known: ${request.headers.authorization}` }

  beforeEach(async () => {
    bench = closeAfterTest(openBench())
    backend = closeAfterTest(await Backend.start())
    valid = 'token-one'
    backend.behave = refusing(401)
  })
  it('reloads changed credentials from the file at once, and delivers the same batch without a pause', async () => {
    const bearer = new TokenFile('token-old')
    bearer.write('token-one')
    await bench.enqueue(range(1, 5))
    const exporter = bench.exporter([destination(backend.url, { bearer })])
    exporter.start()
    await backend.until(({ accepted }) => accepted.length === 5)
    expect(backend.requests.map(({ status }) => status)).toEqual([401, 200])
    await exporter.flush(maxWaitMs)
    expect(await queueOf(exporter)).toMatchObject({
      state: 'closed',
      counters: { delivered: 5, later: 0, repeated: 0 },
    })
  })

  it('exports without loss or duplicates while credentials are rotated', async () => {
    const bearer = new TokenFile('token-one')
    const exporter = bench.exporter([destination(backend.url, { bearer })])
    exporter.start()
    for (const round of range(0, 9)) {
      await bench.enqueue(range(round * 20 + 1, round * 20 + 20))
      exporter.wake()
      if (round % 3 === 2) {
        valid = `token-${round}`
        bearer.write(valid)
      }
      await backend.until(({ accepted }) => accepted.length >= round * 20)
    }
    await backend.until(({ accepted }) => accepted.length >= 200)
    await exporter.flush(maxWaitMs)
    expect(sorted(backend.accepted)).toEqual(range(1, 200))
  })

  it.each([401, 403])(
    'opens the circuit breaker if credentials are rejected with %i, probes with one small batch, and drops nothing',
    async status => {
      backend.behave = refusing(status)
      const bearer = new TokenFile('token-wrong')
      const { log, lines } = listeningLog()
      await bench.enqueue(range(1, 30))
      const exporter = bench.exporter([destination(backend.url, { bearer })], { log })
      exporter.start()
      await backend.until(({ requests }) => requests.length === 5)
      expect(backend.requests.slice(1).every(({ ids }) => ids.length <= 4)).toBe(true)
      expect(await queueOf(exporter)).toMatchObject({
        state: expect.stringMatching('open') as string,
        cause: 'unauthorized',
        pending: 30,
        dead: 0,
        lastError: { status, message: 'not known: Bearer [secret]' },
      })
      expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1)
      expect(JSON.stringify(lines)).not.toContain('token-wrong')

      bearer.write('token-one')
      await backend.until(({ accepted }) => accepted.length === 30)
      await exporter.flush(maxWaitMs)
      expect(sorted(backend.accepted)).toEqual(range(1, 30))
      expect(lines.filter(({ message }) => message.includes('circuit breaker closed'))).toHaveLength(1)
    },
  )

  it("redacts credentials from configured headers in the backend's messages", async () => {
    backend.behave = request => ({ status: 503, body: `bad key ${String(request.headers['x-api-key'])}` })
    await bench.enqueue([1])
    const headers = { 'X-Api-Key': new Secret('abcdefgh12345') }
    const exporter = bench.exporter([destination(backend.url, { headers })])
    exporter.start()
    await expect.poll(async () => (await queueOf(exporter)).lastError?.message).toBe('bad key [secret]')
  })
})
