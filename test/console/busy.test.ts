// Tests many concurrent requests for pages and the JSON API with a complete daemon: which requests get a response first, and which are rejected for
// now.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manyRuns } from '../core/store/many-runs.ts'
import { openHouse, pipelineWebhook, type House } from './house.ts'
import { maxRequests } from '../../src/lib/busy-limit.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
  await manyRuns({ store: house.daemon.store, runs: 60, until: Date.now() })
})
afterAll(async () => house.close())

let id = 500_000

async function webhook(): Promise<void> {
  id += 1
  await house.post(pipelineWebhook({ id }))
}

describe('200 concurrent requests', () => {
  it('serves JSON API calls or rejects them with 429, and meanwhile responds to health checks and webhooks', async () => {
    let [answered, isOver] = [0, false]
    const asked = Array.from({ length: 200 }, async () => {
      const answer = await fetch(`${house.url}/api/pipelines?limit=200`)
      const text = await answer.text()
      if (answer.status === 200) answered += 1
      return { status: answer.status, again: answer.headers.get('retry-after'), text }
    })
    const all = Promise.all(asked).finally(() => (isOver = true))
    const seen: number[] = []
    while (!isOver) {
      const health = await Promise.all(
        ['/healthz', '/readyz'].map(async path => (await fetch(house.url + path)).status),
      )
      await webhook()
      seen.push(answered)
      expect(health).toEqual([200, 200])
    }
    const answers = await all
    const [done, refused] = [answers.filter(one => one.status === 200), answers.filter(one => one.status === 429)]
    expect(done.length + refused.length).toBe(200)
    expect(done.length).toBeGreaterThanOrEqual(maxRequests)
    for (const { again, text } of refused) expect([again, text]).toEqual(['2', expect.stringContaining('Try again')])
    // At least one round of health checks got its responses before all calls had. The number of rounds depends on the machine.
    expect(seen.some(count => count < done.length)).toBe(true)
  })

  it('serves people while programs send many requests', async () => {
    const programs = Array.from({ length: 200 }, async () => (await fetch(`${house.url}/api/cost`)).status)
    expect((await fetch(`${house.url}/exports`)).status).toBe(200)
    expect(await Promise.all(programs)).toContain(429)
  })

  it('serves people who click while many open pages are being updated', async () => {
    const headers = { 'if-none-match': '"none"' }
    const open = Array.from({ length: 200 }, async () => (await fetch(`${house.url}/pipelines`, { headers })).status)
    expect((await fetch(`${house.url}/exports`)).status).toBe(200)
    expect(await Promise.all(open)).toContain(429)
  })
})
