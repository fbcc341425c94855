// `pipespan demo`: runs the shipped daemon between a simulated platform and an OTLP receiver that draws the received traces.
import { demoConfiguration, demoSettings } from './demo-settings.ts'
import { features } from '../features.ts'
import { listenAddress, type ListenAddress } from '../daemon/configuration/address-kinds.ts'
import { localAddress } from './doctor/who-answers.ts'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DaemonProcess, freePorts } from '../simulator/daemon-process.ts'
import { IngestAuth, startRotations } from '../simulator/ingest-auth.ts'
import { InsideBook, TraceBook } from '../simulator/trace-book.ts'
import { lengthOf, LivePlatform } from '../simulator/platform/live.ts'
import { playPast } from '../simulator/platform/past.ts'
import { PlatformState } from '../simulator/platform/state.ts'
import { RestApi } from '../simulator/platform/rest-api.ts'
import { ReportedEnds, WebhookSender } from '../simulator/platform/sender.ts'
import { demoScenarios } from '../simulator/platform/scenarios.ts'
import { stopped, untilStopped } from './until-stopped.ts'
import { DemoReceiver, messagePath, type Refuses } from '../simulator/receiver.ts'
import { figures, projects } from '../simulator/platform/world.ts'
import { waterfall } from './terminal/waterfall.ts'
import { complain, exitCode, isColored, print, type Terminal } from '../lib/terminal.ts'
import { statusOfSpan, type WaterfallSpan } from '../simulator/waterfall-span.ts'
import type { ReceivedEvent } from '../simulator/received.ts'

export interface DemoOptions {
  /** Whether the demo ends after the first ten pipelines. */
  readonly once?: boolean | undefined
  /** The seed for random numbers; 1 by default. A different seed simulates a different day. */
  readonly seed?: number | undefined
  /** Whether the output is coloured; by default, true if standard output is a terminal and `NO_COLOR` is not set. */
  readonly color?: boolean | undefined
  /** The address of the demo's pages; by default, a free port on 127.0.0.1. With port 0, the system chooses a free port. */
  readonly listen?: ListenAddress | undefined
  /** The number of seconds simulated on the platform per real second; 30 by default. */
  readonly speed?: number | undefined
  /** Ends the demo when aborted, like Ctrl-C. */
  readonly signal?: AbortSignal | undefined
  /** The program's main file; by default, that of the running program. */
  readonly main?: string | undefined
}

/** Whether this program includes the tokens feature. Without the feature there is no token to rotate, and the feature's options are unknown. */
const hasTokens = features.some(({ name }) => name === 'tokens')

/**
 * With `once`, the number of pipelines that the demo itself starts. Six become ten, because one of them triggers three others, and another triggers
 * one.
 */
const startedOnce = 6
/**
 * The time in ms within which the daemon must be ready. It is long because the machine may be busy. Meanwhile the user sees that nothing has arrived
 * yet, and can press Ctrl-C.
 */
const startTimeoutMs = 120_000
const onceTimeoutMs = 180_000
const insideTimeoutMs = 5_000
/** How many ms before the demo's start its history ends. Without `once`, the simulated platform's clock starts at the end of the history. */
const hour = 3_600_000
/** The share of webhooks that are deliberately lost. */
const loss = 0.25

/** Runs the demo until it is stopped. The exit code is 1 if the daemon died or if `once` did not finish in time. */
export async function demo(options: DemoOptions, terminal: Terminal): Promise<number> {
  return untilStopped(options.signal, async stopping => {
    const closers: (() => Promise<void>)[] = []
    try {
      return await play(options, terminal, closers, stopping)
    } finally {
      await closeAll(closers)
    }
  })
}

/** Calls each closer once; the last one added is called first. */
async function closeAll(closers: (() => Promise<void>)[]): Promise<void> {
  for (const close of closers.splice(0).toReversed()) await close()
}

/** Adds a closer to `closers` for everything that the demo starts. */
async function play(
  options: DemoOptions,
  terminal: Terminal,
  closers: (() => Promise<void>)[],
  stopping: AbortSignal,
): Promise<number> {
  const { once = false, seed = 1, speed = 30 } = options
  const folder = await mkdtemp(path.join(tmpdir(), 'pipespan-demo-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  const state = new PlatformState()
  const until = Date.now() - hour
  const auth = new IngestAuth()
  const receiver = await DemoReceiver.start(refusesOne(state, until), auth)
  closers.push(() => receiver.close())
  const played = { seed, every: once ? 20 : 35, events: true, scenarios: demoScenarios }
  const past = once ? lengthOf({ ...played, pipelines: startedOnce }) * (1 - 1 / speed) : hour
  // The simulated platform's clock starts in the past. The API's first response must already report this past time, so that the clock never goes
  // backwards.
  let platformNow = (): number => Date.now() - past
  const apiToken = randomBytes(24).toString('hex')
  const api = await RestApi.start({
    ...{ state, now: () => platformNow(), token: apiToken, pushesAreActivity: true },
    projects: [...Object.values(projects), figures],
  })
  closers.push(() => api.close())
  const [port = 0, freePort = 0] = await freePorts(2)
  const { host, port: chosenPort } = options.listen ?? { host: '127.0.0.1', port: 0 }
  const admin = { host, port: chosenPort === 0 ? freePort : chosenPort }
  const pages = localAddress(admin, { scheme: 'http', basePath: '/' })
  const ownToken = terminal.env.PIPESPAN_ADMIN_TOKEN?.trim() ?? ''
  const adminToken = ownToken === '' ? randomBytes(9).toString('hex') : ownToken
  const token = randomBytes(24).toString('hex')
  const configuration = path.join(folder, 'pipespan.yaml')
  await writeFile(configuration, demoConfiguration(receiver.url + messagePath))
  const ingestToken = path.join(folder, 'ingest-token')
  await writeFile(ingestToken, auth.create('pipespan'), { mode: 0o600 })
  const adminListen = listenAddress.show(admin)
  const addresses = { port, adminListen, adminToken, api: api.url, receiver: receiver.url }
  const secrets = { token, apiToken, ingestToken, ingestKey: hasTokens ? auth.apiKey : undefined }
  const env = demoSettings(terminal.env, { folder, configuration, once, ...secrets, ...addresses })
  const program = { main: options.main, env }
  const daemon = new DaemonProcess({ ...program, args: ['serve'] })
  closers.push(() => daemon.stop())
  const readiness = await Promise.race([daemon.ready(`${pages}/readyz`, startTimeoutMs), stopped(stopping)])
  if (readiness === 'stopped') return exitCode.done
  if (readiness !== 'ready') {
    const what =
      readiness === 'died'
        ? 'The daemon exited before it was ready.'
        : `The daemon was not ready within ${startTimeoutMs / 1_000} s.`
    return fail(what, daemon, terminal)
  }

  const webhooks = `http://127.0.0.1:${port}/webhooks`
  print(
    terminal,
    introduction(`${pages}/`, ownToken === '' ? adminToken : undefined, webhooks, receiver.url, api.url, speed, once),
  )
  const reported = new ReportedEnds()
  // The pipelines from the weeks before the demo are only for the pages. They are neither drawn in the terminal nor counted.
  const bygone = once ? [] : playPast({ state, instance: api.url, until, busyEvery: played.every * 1_000 })
  const draw = drawer(options, terminal, reported)
  const book = new TraceBook()
  const insides = new InsideBook()
  receiver.on('received', ({ spans, events }) => {
    const present = spans.filter(({ start }) => start > until)
    book.add(present).forEach(draw)
    const lines = events.filter(({ at }) => at > until).map(eventLine)
    for (const line of [...lines, ...insides.add(present)]) print(terminal, line)
  })
  receiver.on('message', title => print(terminal, `notification  ${title}`))
  if (!once && hasTokens) {
    const onLine = (line: string): void => print(terminal, `rotation  ${line}`)
    closers.push(startRotations({ ...program, file: ingestToken, onLine }))
  }
  const sender = new WebhookSender({ url: webhooks, token, instance: api.url })
  closers.push(() => sender.close())
  await sender.sendAll(bygone)
  const platform = new LivePlatform({
    ...played,
    instance: api.url,
    url: webhooks,
    token,
    speed,
    start: Date.now() - past,
    state,
    loss,
    onSent: (delivery, outcome) => reported.record(delivery, outcome),
    ...(once ? { pipelines: startedOnce } : {}),
  })
  platformNow = () => platform.now
  closers.push(() => platform.stop())

  const end = await Promise.race([
    stopped(stopping),
    daemon.exited.then(() => 'died' as const),
    ...(once ? [allArrived(platform, receiver, book, insides)] : []),
  ])
  if (end === 'died') return fail('The daemon exited.', daemon, terminal)
  // While the daemon stops, it still sends the exports that are due. So the summary is printed after the daemon has stopped, as the last lines.
  await closeAll(closers)
  book.rest().forEach(draw)
  const { accepted, sent } = platform.counts
  print(
    terminal,
    `\n${counted(book.statuses.size, 'pipeline')} with ${counted(book.jobs, 'job')} drawn from ${counted(accepted, 'webhook')}.`,
  )
  print(terminal, healed(platform, book, reported))
  if (once) print(terminal, tryNext)
  if (end !== 'too-late') return exitCode.done
  const missing = [...platform.state.pipelines.values()].flatMap(({ id, status }) =>
    book.statuses.get(id) === status ? [] : [id],
  )
  const message = `Pipelines that have not arrived: ${missing.join(', ')}. The daemon did not accept ${counted(sent - accepted, 'webhook')}.`
  return fail(message, daemon, terminal)
}

/** Makes the backend reject the trace of the first pipeline that was canceled after `since`, so that there is a dead letter. */
function refusesOne(state: PlatformState, since: number): Refuses {
  let refused: number | undefined
  return spans => {
    refused ??= state.firstCanceled(since)?.id
    const isRefused = spans.some(span => span.kind === 'pipeline' && idOf(span) === refused)
    return isRefused ? 'This backend refuses one trace of the demo, to show a dead letter.' : undefined
  }
}

function eventLine({ name, body, project }: ReceivedEvent): string {
  return `${name}  ${body}${project === undefined ? '' : `  (${project})`}`
}

/** Resolves once every pipeline on the platform has ended and its trace has arrived with the final status. */
async function allArrived(
  platform: LivePlatform,
  receiver: DemoReceiver,
  book: TraceBook,
  insides: InsideBook,
): Promise<'arrived' | 'too-late'> {
  const deadline = Date.now() + onceTimeoutMs
  const timeout = new Promise<'too-late'>(resolve => setTimeout(() => resolve('too-late'), onceTimeoutMs).unref())
  const over = await Promise.race([platform.finished(), timeout])
  if (over === 'too-late') return over
  const ended = [...platform.state.pipelines.values()]
  const arrived = (): boolean => ended.every(({ id, status }) => book.statuses.get(id) === status)
  if (!(await receiver.until(arrived, Math.max(0, deadline - Date.now())))) return 'too-late'
  // The spans inside failed jobs arrive after the pipelines' traces. The demo waits for them, but only briefly.
  await receiver.until(() => insides.jobs >= book.failed, insideTimeoutMs)
  return 'arrived'
}

/** Returns a sentence about lost webhooks: how many of them reported the end of a pipeline that the poller then found. */
function healed(platform: LivePlatform, { statuses }: TraceBook, reported: ReportedEnds): string {
  const found = [...statuses].filter(([id, status]) => !reported.has(id, status)).length
  const ends = found === 0 ? '' : `, including those for the end of ${counted(found, 'pipeline')}`
  return `The platform dropped another ${counted(platform.counts.lost, 'webhook')} on purpose${ends}; the poller found what was missing.`
}

function drawer(
  { color }: DemoOptions,
  terminal: Terminal,
  reported: ReportedEnds,
): (spans: readonly WaterfallSpan[]) => void {
  const { stdout } = terminal
  const colored = color ?? isColored(terminal)
  return spans => {
    const width = Math.min(stdout.columns ?? 100, 140)
    stdout.write(`\n${waterfall(spans, { width, color: colored })}\n`)
    const unreported = spans.filter(span => span.kind === 'pipeline' && !reported.has(idOf(span), statusOfSpan(span)))
    for (const { name } of unreported)
      stdout.write(`(${name}: the webhook for its end was dropped; found by polling)\n`)
  }
}

function idOf({ attributes }: WaterfallSpan): number {
  return Number(attributes['pipeline.id'])
}

/** `token` is the admin token, if the demo created one. */
function introduction(
  pages: string,
  token: string | undefined,
  webhooks: string,
  receiver: string,
  api: string,
  speed: number,
  once: boolean,
): string {
  return [
    `Open ${pages} in a browser to see running pipelines, where the time goes, and what has arrived.`,
    token === undefined
      ? 'Log in with your admin token (PIPESPAN_ADMIN_TOKEN).'
      : `Log in with the admin token ${token}`,
    `Coding assistants connect to ${pages}mcp with the same token.`,
    `Metrics, including an inventory of the platform and two queries, are at ${pages}metrics.`,
    `A simulated platform sends webhooks to the daemon at ${webhooks}: ${once ? 'ten pipelines' : 'first those of the last hour'}, with one minute simulated every ${Math.round(600 / speed) / 10} s${once ? '' : ', then in real time'}.`,
    `One webhook in four is dropped on purpose; the daemon finds these pipelines by polling the platform's API at ${api}.`,
    `The daemon exports to an OTLP receiver at ${receiver}, which draws each trace below${once ? '.' : '. Ctrl-C ends it.'}`,
    ...(once ? [] : [tryNext]),
  ].join('\n')
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

const tryNext =
  'Try next, with your own webhook: PIPESPAN_WEBHOOK_TOKEN=… OTEL_EXPORTER_OTLP_ENDPOINT=… npx pipespan serve'

function fail(what: string, daemon: DaemonProcess, terminal: Terminal): number {
  const lines = daemon.lastLines
  complain(terminal, lines.length === 0 ? `${what} It printed nothing.` : `${what} Its last lines:`)
  for (const line of lines) complain(terminal, `  ${line}`)
  return exitCode.failed
}
