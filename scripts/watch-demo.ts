// Runs the demo and checks the elapsed times of running pipelines and jobs: `node scripts/watch-demo.ts --minutes 10`. An elapsed time must never
// decrease, and never fall behind the wall clock by more than a second. No pipeline may be "running" without any change for five minutes. If a check
// fails, the exit code is 1.
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { demo } from '../src/commands/demo.ts'

interface Running {
  readonly instance: string
  readonly pipelineId: number
  readonly spentMs?: number
  readonly changedAt: number
  readonly jobs: readonly { readonly id: number; readonly status: string; readonly ranMs?: number }[]
}

/** An elapsed time, with the times of its request and response by `performance.now()`. */
interface Sample {
  readonly asked: number
  readonly answered: number
  readonly elapsed: number
}

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, main: { type: 'string' } } })
const minutes = Number(values.minutes)
/**
 * The maximum time in ms by which an elapsed time may fall behind the wall clock. A tolerance is needed because creation times from webhooks have
 * whole seconds, while creation times from the API have milliseconds.
 */
const tolerance = 1_000
/**
 * The maximum time in ms for which a running pipeline may stay without any change. The longest job takes two minutes, and the daemon requests a lost
 * event after two minutes of silence.
 */
const maxSilence = 300_000

const adminToken = randomUUID()
const stopping = new AbortController()
const { promise: opened, resolve: open } = Promise.withResolvers<string>()
let printed = ''
const stdout = new Writable({
  write: (chunk: Buffer, _encoding, done) => {
    if (printed.length < 10_000) printed += chunk.toString()
    const [, url] = /^Open (http:\S+)\/ in a browser/m.exec(printed) ?? []
    if (url !== undefined) open(url)
    done()
  },
})
const main = values.main ?? path.join(import.meta.dirname, '..', 'dist', 'main.js')
const ended = demo(
  { signal: stopping.signal, main, color: false },
  { stdout, stderr: process.stderr, env: { ...process.env, PIPESPAN_ADMIN_TOKEN: adminToken } },
)
const url = await opened
const headers = { authorization: `Bearer ${adminToken}` }

const last = new Map<string, Sample>()
const seen = new Set<string>()
const silentOnes = new Set<string>()
const found: string[] = []
let [samples, maxBack, maxBehind, maxSilent, longest] = [0, 0, 0, 0, 0]
const until = performance.now() + minutes * 60_000
while (performance.now() < until) {
  const asked = performance.now()
  const answer = await fetch(`${url}/api/pipelines?status=running&limit=100`, { headers })
  if (!answer.ok) throw new Error(`The request for the list of pipelines failed with status ${answer.status}.`)
  const { pipelines: running } = (await answer.json()) as { pipelines: readonly Running[] }
  const answered = performance.now()
  for (const run of running) {
    const of = `${run.pipelineId}`
    const silence = Date.now() - run.changedAt
    maxSilent = Math.max(maxSilent, silence)
    if (silence > maxSilence && !silentOnes.has(of)) {
      silentOnes.add(of)
      found.push(`pipeline ${of}: running without a change for ${Math.round(silence / 1_000)} s`)
    }
    watch(`pipeline ${of}`, run.spentMs, asked, answered)
    for (const { id, status, ranMs } of run.jobs)
      if (status === 'running') watch(`job ${id} of ${of}`, ranMs, asked, answered)
  }
  await sleep(500)
}
stopping.abort()
const code = await ended
for (const one of found.slice(0, 20)) console.log(one)
console.log(
  `${minutes} minutes, ${samples} samples of ${seen.size} elapsed times, the longest ${Math.round(longest / 1_000)} s. ` +
    `Furthest back ${Math.round(maxBack)} ms, furthest behind the wall clock ${Math.round(maxBehind)} ms; ` +
    `longest time running without a change ${Math.round(maxSilent / 1_000)} s; ${found.length} problems.`,
)
process.exitCode = found.length > 0 || code !== 0 ? 1 : 0

function watch(name: string, elapsed: number | undefined, asked: number, answered: number): void {
  if (elapsed === undefined) return
  const before = last.get(name)
  last.set(name, { asked, answered, elapsed })
  seen.add(name)
  samples += 1
  longest = Math.max(longest, elapsed)
  if (before === undefined) return
  const grown = elapsed - before.elapsed
  // The minimum time between the two readings of the elapsed time: from the previous response to this request.
  const passed = asked - before.answered
  maxBack = Math.max(maxBack, -grown)
  maxBehind = Math.max(maxBehind, passed - grown)
  if (passed - grown > tolerance)
    found.push(
      `${name}: ${Math.round(before.elapsed)} ms, then ${Math.round(elapsed)} ms after ${Math.round(passed)} ms`,
    )
}
