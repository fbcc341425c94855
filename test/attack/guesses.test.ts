// Tests an attacker who guesses the admin token over many connections, from the same address as all other users. Guesses are throttled, and users
// with the right token or a session are still let in.
import { Agent, request } from 'node:http'
import { expect, it } from 'vitest'
import { Daemon } from '../e2e/daemon.ts'
import { isFull } from '../e2e/load.ts'
import { limits } from '../../src/console/access/attempts.ts'

const token = 'only-tests-know-this-admin-token'
// A single address may use at most a quarter of the listener's 2,048 connections.
const connections = isFull ? 400 : 20
const rounds = isFull ? 10 : 1

it(`accepts the right token while ${connections * rounds} wrong ones arrive over ${connections} connections`, async () => {
  const daemon = await Daemon.start({ PIPESPAN_ADMIN_TOKEN: token })
  const agent = new Agent({ keepAlive: true, maxSockets: connections + 20 })
  const ask = async (path: string, headers: Record<string, string>, body?: string) =>
    new Promise<{ status: number; ms: number; cookie: string }>((resolve, reject) => {
      const began = performance.now()
      const sent = request(
        daemon.adminUrl + path,
        { agent, headers, method: body === undefined ? 'GET' : 'POST' },
        answer => {
          const cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
          answer
            .resume()
            .on('end', () => resolve({ status: answer.statusCode ?? 0, ms: performance.now() - began, cookie }))
        },
      )
      sent.on('error', reject).end(body)
    })
  const login = async () =>
    ask('/login', { 'content-type': 'application/x-www-form-urlencoded' }, new URLSearchParams({ token }).toString())
  const { cookie } = await login()

  const began = performance.now()
  const statuses = new Map<number, number>()
  const guessing = Array.from({ length: connections }, async (_, connection) => {
    for (let round = 0; round < rounds; round += 1) {
      const guess = { authorization: `Bearer guess-${connection}-${round}` }
      const { status } = await ask(connection % 2 === 0 ? '/metrics' : '/api/overview', guess)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  const flood = { isOver: false }
  const over = Promise.all(guessing).finally(() => (flood.isOver = true))
  const honest: { status: number; ms: number }[] = []
  const bySession: { status: number; ms: number }[] = []
  do {
    const [metrics, page, loggedIn] = await Promise.all([
      ask('/metrics', { authorization: `Bearer ${token}` }),
      ask('/', { cookie }),
      login(),
    ])
    honest.push(metrics, loggedIn)
    bySession.push(page)
  } while (!flood.isOver)
  await over
  const seconds = (performance.now() - began) / 1_000
  const slowest = (some: readonly { ms: number }[]): string => `${Math.round(Math.max(...some.map(({ ms }) => ms)))} ms`
  process.stdout.write(
    `${connections * rounds} guesses took ${seconds.toFixed(1)} s; slowest with the right token ${slowest(honest)}, with a session ${slowest(bySession)}\n`,
  )
  expect(new Set(honest.map(({ status }) => status))).toEqual(new Set([200, 303]))
  expect(new Set(bySession.map(({ status }) => status))).toEqual(new Set([200]))
  expect(statuses).toEqual(
    new Map([
      [401, limits.address],
      [429, connections * rounds - limits.address],
    ]),
  )
  agent.destroy()
  await daemon.stop()
})
