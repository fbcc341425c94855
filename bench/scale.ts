// Simulates a company of 10,000 projects in 500 groups with three replicas on PostgreSQL. Webhooks are sent at a steady rate while the poller also
// runs. Halfway through, the replicas are upgraded one by one from an earlier commit. Prints which exports were lost or duplicated, how long ends of
// pipelines took to arrive, how many requests per minute the platform received, and how large the database has become.
//
//   node bench/scale.ts --minutes 60 --rate 50 --from COMMIT
//
// Without --from, all replicas run this checkout's build from the start, and are restarted one after another.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { headersOf } from '../src/simulator/platform/delivery.ts'
import { Random } from '../src/simulator/platform/random.ts'
import { RestApi } from '../src/simulator/platform/rest-api.ts'
import { PlatformState } from '../src/simulator/platform/state.ts'
import { complete, differences } from '../test/e2e/truth.ts'
import { startPostgres } from '../test/core/store/postgres-server.ts'
import { truthOf } from '../test/support/truth.ts'
import { token } from './load.ts'
import { projectsOf, runCompany, type CompanyEvent, type Size } from './scale/company.ts'
import { buildOf, Replicas } from './scale/replicas.ts'
import { Witness } from './scale/witness.ts'

const size: Size = { groups: 500, teams: 2_000 }
const replicaCount = 3
/** Requests per minute to the platform, summed over all replicas. */
const budget = 600
/** The time in ms for which the earlier and the new version run side by side after each replica is upgraded. */
const pauseMs = 30_000
/** The time in ms after the last event within which missing exports may still arrive. */
const timeoutMs = 10 * 60_000

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '50' },
    from: { type: 'string' },
  },
})
const forMs = Number(values.minutes) * 60_000

await using work = new AsyncDisposableStack()
const state = new PlatformState()
const api = work.adopt(
  await RestApi.start({ state, now: Date.now, projects: projectsOf(size), pushesAreActivity: true }),
  one => one.close(),
)
/** Number of requests to which the platform responded, by minute. */
const requests = new Map<number, number>()
api.misbehave = () => {
  const minute = Math.floor(Date.now() / 60_000)
  requests.set(minute, (requests.get(minute) ?? 0) + 1)
  api.asked.length = 0
  return undefined
}
const server = work.adopt(await startPostgres({ durable: true }), one => one.dispose())
const storeUrl = await server.newDatabase()
const witness = work.use(await Witness.start())
const replicas = work.use(
  new Replicas(
    {
      PIPESPAN_STORE_URL: storeUrl,
      PIPESPAN_SETTLE: '5s',
      PIPESPAN_PLATFORM_URL: api.url,
      PIPESPAN_PLATFORM_TOKEN: 'only-for-this-benchmark',
      PIPESPAN_PLATFORM_BUDGET: String(budget),
      PIPESPAN_POLL_GROUPS: 'acme',
      PIPESPAN_LOG_LEVEL: 'warn',
    },
    witness.port,
  ),
)
const earlier = values.from === undefined ? undefined : work.use(buildOf(values.from))
for (let count = 0; count < replicaCount; count += 1) await replicas.start(earlier?.main)
const database = new pg.Client({ connectionString: storeUrl })
await database.connect()
work.defer(() => database.end())

let sent = 0
let refused = 0
let mostConnections = 0
const random = new Random(12)
const underWay = new Set<Promise<void>>()
const send = ({ delivery, ends }: CompanyEvent): void => {
  if (ends !== undefined) witness.ended(delivery.pipelineId, ends)
  const headers = headersOf(delivery, { headerPrefix: 'X-Service-', instance: api.url, token }, Date.now(), random)
  const posted = replicas.post(headers, delivery.body).then(
    () => void (sent += 1),
    () => void (refused += 1),
  )
  underWay.add(posted)
  void posted.then(() => underWay.delete(posted))
}
const numberOf = async (sql: string): Promise<number> => Number((await database.query<{ n: string }>(sql)).rows[0]?.n)
const watch = setInterval(() => {
  const sql = `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
  void numberOf(sql).then(count => (mostConnections = Math.max(mostConnections, count)))
}, 5_000)
work.defer(() => clearInterval(watch))

const began = Date.now()
const over = AbortSignal.timeout(forMs)
const played = runCompany({ size, rate: Number(values.rate), instance: api.url, state, send }, over)
await sleep(forMs / 2)
process.stderr.write(`after ${Math.round((Date.now() - began) / 60_000)} min: ${sent} webhooks; the upgrade begins\n`)
const upgradeBegan = Date.now()
await replicas.upgrade(pauseMs)
const upgradeMs = Date.now() - upgradeBegan
await played
await Promise.all(underWay)
const playedMs = Date.now() - began
const { processorMs, residentBytes } = replicas.usage()

const truths = [...state.pipelines.values()].map(truthOf)
process.stderr.write(`${truths.length} pipelines have ended; waiting for what has not arrived\n`)
const isComplete = complete(truths)
for (const until = Date.now() + timeoutMs; !isComplete(witness.spans) && Date.now() < until;) await sleep(1_000)
const wrong = differences(truths, witness.spans)
for (const one of wrong.slice(0, 20)) process.stderr.write(`${one}\n`)

const runs = await numberOf('SELECT count(*) AS n FROM runs')
const bytes = await numberOf('SELECT pg_database_size(current_database()) AS n')
const perMinute = [...requests.values()]
console.log(
  JSON.stringify(
    {
      minutes: Math.round(playedMs / 60_000),
      projects: size.teams * 5,
      groups: size.groups,
      webhooks: sent,
      webhooksPerSecond: Math.round((10_000 * sent) / playedMs) / 10,
      sentAgain: replicas.sentAgain,
      refused,
      pipelines: truths.length,
      spans: witness.spans.length,
      lostOrDoubled: wrong.length,
      arrivalMs: { p50: witness.percentile(0.5), p99: witness.percentile(0.99), max: witness.percentile(1) },
      requestsPerMinute: {
        max: Math.max(0, ...perMinute),
        mean: Math.round(perMinute.reduce((a, b) => a + b, 0) / perMinute.length),
        budget,
      },
      upgradeSeconds: Math.round(upgradeMs / 1000),
      processorShare: Math.round((100 * processorMs) / playedMs) / 100,
      residentMiB: residentBytes.map(one => Math.round(one / 2 ** 20)),
      postgres: { mostConnections, MiB: Math.round(bytes / 2 ** 20), runs, bytesPerRun: Math.round(bytes / runs) },
    },
    undefined,
    2,
  ),
)
process.exitCode = wrong.length === 0 && refused === 0 ? 0 : 1
