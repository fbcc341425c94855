// Tests how long a job log or an artifact may take, with a platform that sends slowly over HTTP.
import { expect, it, onTestFinished } from 'vitest'
import { answer, clientOf, startPlatform, type Reply } from './platform-server.ts'
import { streamPace } from '../../../src/platform/rest/http.ts'
import { readFileSync } from 'node:fs'

const inside = { priority: 'inside' } as const

/** Sends `bytes` bytes every few milliseconds until the connection ends. */
const dripping =
  (bytes: number): Reply =>
  (_, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'.repeat(bytes)), 5)
    response.on('close', () => clearInterval(timer))
    onTestFinished(() => clearInterval(timer))
  }

async function failure(reply: Reply, pace: typeof streamPace) {
  await using platform = await startPlatform(reply)
  await using test = clientOf(platform.url, { pace })
  const log = await test.client
    .jobLog(3, 1, { ...inside, maxBytes: 2 ** 30, onWindow: () => undefined })
    .catch((error: unknown) => error)
  const requests = platform.asked.length
  const artifact = await test.client
    .jobArtifact(3, 1, { type: 'junit' }, inside, async body => {
      for await (const piece of body) expect(piece.length).toBeGreaterThan(0)
    })
    .catch((error: unknown) => error)
  return { log, artifact, requests }
}

it('aborts a stream that is too slow, with a temporary error, and does not resume it', async () => {
  const found = await failure(dripping(1), { maxMs: 3_600_000, minBytes: 100_000, periodMs: 100 })
  const slow = { kind: 'slow', passing: true, message: expect.stringContaining('bytes in 0.1 s') as string }
  expect(found).toMatchObject({ log: slow, artifact: slow, requests: 1 })
})

it('aborts a stream that is not complete in time', async () => {
  const found = await failure(dripping(10_000), { maxMs: 100, minBytes: 0, periodMs: 10 })
  const slow = { kind: 'slow', message: expect.stringContaining('incomplete after 0.1 s') as string }
  expect(found).toMatchObject({ log: slow, artifact: slow, requests: 1 })
})

it('does not count the time that its reader takes', async () => {
  await using platform = await startPlatform(answer(200, 'x'.repeat(1_000_000)))
  await using test = clientOf(platform.url, { pace: { maxMs: 2_000, minBytes: 2 ** 30, periodMs: 2_000 } })
  let now = performance.now()
  const until = now + 2_500
  const read = await test.client.jobLog(3, 1, {
    ...{ ...inside, maxBytes: 2 ** 30 },
    onWindow: () => {
      while (now < until) now = performance.now()
    },
  })
  expect(read).toEqual({ bytes: 1_000_000, isWhole: true })
})

it('the guide has the limits of slow logs', () => {
  const guide = readFileSync('docs/inside-jobs.md', 'utf8')
  expect(guide).toContain(`${streamPace.minBytes / 1024} KiB in ${streamPace.periodMs / 1_000} s`)
  expect(guide).toContain(`${streamPace.maxMs / 60_000} minutes`)
})
