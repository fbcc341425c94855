// Measures the time from the webhook of a finished pipeline to the backend's response. It is compared with the minimum: the backend's own response
// time plus one commit.
import { Agent, createServer, request, type IncomingMessage } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { deliveryKey, token } from './load.ts'
import { finishedPipeline } from './payload.ts'
import { finishes } from './hooks.ts'
import { fullLoad, defaultBacklog } from './full-load.ts'
import { median, type Question } from './question.ts'
import { Random } from '../src/simulator/platform/random.ts'
import { startDaemon, startServer, temporaryFolder } from './processes.ts'
import { timed } from './work.ts'

export const latency: Question = {
  id: 'latency',
  name: 'median time from the webhook to the backend',
  against: "the backend's response time plus one commit",
  // A ratio of 9 corresponds to 4 ms, because the backend's response and the commit together take 0.45 ms.
  asked: { atMost: 9 },
  unit: 'ms',
  times: { full: 5, quick: 1 },
  terms: () =>
    'Finished pipelines of 20 jobs, sent at random times at a tenth of the highest sustained rate. Measured from sending the ' +
    "webhook to the end of the backend's response. Settle and enrichment delay 0; only traces. The reference is the sum of two medians: a " +
    'request of the same size to the same backend, and a commit of the same bytes to an SQLite file with full sync.',
  rounds: async function* (quick) {
    const perSecond = (await peak(quick)) / 10
    for (;;) {
      await using backend = await startBackend()
      await using daemon = await startDaemon({ backend: backend.port })
      // Some pipelines are sent before the measurement, because the first pipelines of a new process are slower than the median.
      await took(daemon.port, backend, perSecond, quick ? 1_000 : 8_000)
      const times = await took(daemon.port, backend, perSecond, quick ? 3_000 : 15_000)
      const answer = await answerMs(backend)
      const commit = commitMs()
      const late = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
      const seen =
        `${perSecond.toFixed(0)} pipelines per second; 99 % within ${late.toFixed(1)} ms; the backend responds in ` +
        `${answer.toFixed(2)} ms, a commit takes ${commit.toFixed(2)} ms`
      yield { ours: median(times), rival: answer + commit, seen }
    }
  },
}

async function peak(quick: boolean): Promise<number> {
  await using sink = await startServer('sink.ts')
  await using daemon = await startDaemon({ backend: sink.port })
  const times = quick ? { warmMs: 1_200, forMs: 1_500 } : { warmMs: 5_000, forMs: 15_000 }
  const common = { daemons: [daemon], sink, hooks: finishes(20), backlog: defaultBacklog(quick) }
  return (await fullLoad({ ...common, ...times })).pipelinesPerSecond
}

interface Backend extends AsyncDisposable {
  readonly port: number
  /** The time of the backend's response to each pipeline, by the pipeline's number. */
  readonly answered: Map<number, number>
  /** Returns the last request that the backend received. */
  last(): Buffer
}

async function startBackend(): Promise<Backend> {
  const answered = new Map<number, number>()
  let last = Buffer.alloc(0)
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      last = Buffer.concat(chunks)
      const text = gunzipSync(last).toString('latin1')
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(() => {
        // The request contains the pipeline's number as part of the pipeline's URL.
        for (const [, n] of text.matchAll(/pipelines\/100(\d{7})/g)) answered.set(Number(n), performance.now())
      })
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    answered,
    last: () => last,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The number of pipelines that this process has sent so far. It ensures that no two pipelines have the same number. */
let sent = 0

/** Sends pipelines at random times, as independent senders do. Returns the time in ms that each pipeline took. */
async function took(port: number, backend: Backend, perSecond: number, forMs: number): Promise<number[]> {
  const template = finishedPipeline(20)
  const random = new Random(1)
  const began = new Map<number, number>()
  const end = performance.now() + forMs
  let due = performance.now()
  while (due < end) {
    due -= (Math.log(1 - random.next()) * 1_000) / perSecond
    await sleep(Math.max(0, due - performance.now()))
    const body = template.body(sent)
    began.set(sent, performance.now())
    void post(port, '/webhooks', body, {
      'content-type': 'application/json',
      'x-service-event': 'Pipeline Hook',
      'x-service-token': token,
      'x-service-instance': 'https://git.example.com',
      'idempotency-key': deliveryKey(),
    })
    sent += 1
  }
  const deadline = performance.now() + 10_000
  while (![...began.keys()].every(n => backend.answered.has(n))) {
    if (performance.now() > deadline) throw new Error('some pipelines did not reach the backend within 10 s')
    await sleep(20)
  }
  return [...began].map(([n, at]) => (backend.answered.get(n) ?? Number.NaN) - at)
}

async function answerMs(backend: Backend): Promise<number> {
  const body = backend.last()
  const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' }
  return medianOf(300, async () => post(backend.port, '/v1/traces', body, headers))
}

function commitMs(): number {
  using folder = temporaryFolder()
  const db = new DatabaseSync(path.join(folder.path, 'commit.db'))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB)')
  const insert = db.prepare('INSERT INTO rows (body) VALUES (?)')
  const body = finishedPipeline(20).body(1)
  const times = Array.from({ length: 300 }, () => timed(() => insert.run(body)))
  db.close()
  return median(times)
}

async function medianOf(times: number, work: () => Promise<void>): Promise<number> {
  const taken: number[] = []
  while (taken.length < times) {
    const began = performance.now()
    await work()
    taken.push(performance.now() - began)
  }
  return median(taken)
}

const agent = new Agent({ keepAlive: true, maxSockets: 32 })

async function post(port: number, where: string, body: Buffer, headers: Record<string, string>): Promise<void> {
  const outgoing = request({ port, host: '127.0.0.1', path: where, method: 'POST', agent, headers })
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  incoming.resume()
  await once(incoming, 'end')
}
