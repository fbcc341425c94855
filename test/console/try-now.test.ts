// Tests the "Try now" action: when a backend works again, pending exports are sent at once. The action works on the pages and in the API, but not
// from another site.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generatePipeline } from '../support/generate.ts'
import { openHouse, until, type House } from './house.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(async () => house.close())

const read = async (path: string): Promise<string> => (await fetch(house.url + path)).text()
const queueOf = async () => (await house.daemon.exporter.status())[0]

/** Makes the backend reject a pipeline with a Retry-After of an hour. */
async function goesDown(seed: number, id: number): Promise<void> {
  const headers = { 'retry-after': '3600' }
  house.receiver.misbehave({ fault: { kind: 'status', status: 503, headers, message: 'out of service' } })
  await house.deliver(generatePipeline(seed, 'small', { firstIds: { pipeline: id, job: id * 10 } }).deliveries)
  await until(async () => (await queueOf())?.state === 'open')
  await until(async () => ((await queueOf())?.putOff ?? 0) > 0)
}

async function post(form: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
  const body = new URLSearchParams(form)
  return fetch(`${house.url}/exports/do`, { method: 'POST', body, headers, redirect: 'manual' })
}

it('does not offer "Try now" if there is no problem', async () => {
  expect(await read('/')).not.toContain('Try now')
  expect(await read('/exports')).not.toContain('Try now')
  const answer = await post({ do: 'now' })
  expect(answer.status).toBe(303)
  expect(await read(answer.headers.get('location')!)).toContain('No exports were postponed')
})

it('sends pending exports at once when the user clicks "Try now" and the backend works again', async () => {
  await goesDown(4, 92_000_001)
  const [overview, exports] = [await read('/'), await read('/exports')]
  for (const page of [overview, exports]) expect(page).toContain('Try now')
  house.receiver.behave()
  const before = house.receiver.spans.length

  expect((await post({ do: 'now' }, { origin: 'https://elsewhere.example' })).status).toBe(403)
  expect(await queueOf()).toMatchObject({ state: 'open' })

  const answer = await post({ do: 'now' })
  expect(answer.status).toBe(303)
  await until(async () => house.receiver.spans.length > before)
  await expect.poll(queueOf).toMatchObject({ pending: 0, state: 'closed', putOff: 0 })
  const response = (await read(answer.headers.get('location')!)).replace(/\s+/g, ' ')
  expect(response).toMatch(/[1-9]\d* postponed exports? (is|are) sent now; 1 open circuit breaker lets a probe through/)
  expect(response).not.toContain('Try now</button>')
})

it('retries one destination via the API, and trips the circuit breaker again if the backend is still down', async () => {
  await goesDown(6, 93_000_001)
  const ask = async (body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const asked = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(`${house.url}/api/exports/try`, asked)).json()
  }
  expect(await ask({ destination: 'another' })).toEqual({ due: 0, probes: 0 })
  const tried = (await ask({ destination: 'default' })) as { due: number }
  expect(tried).toMatchObject({ probes: 1 })
  expect(tried.due).toBeGreaterThan(0)
  await until(async () => (await queueOf())?.state === 'open')
  house.receiver.behave()
  await ask({})
  await until(async () => (await queueOf())?.pending === 0)
})
