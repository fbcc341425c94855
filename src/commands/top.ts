// `pipespan top`: a live view of a running daemon in a terminal. It shows which pipelines are running, waiting and failing. It reads the JSON API of
// the admin listener. If standard output is not a suitable terminal, it prints the view once and exits.
import { emitKeypressEvents } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { cut, plain } from './terminal/fitted-text.ts'
import { exitCode, isColored, print, type Terminal, printJson } from '../lib/terminal.ts'
import {
  firstScreen,
  pressed,
  type Key,
  listedPipelines,
  liveView,
  waterfallView,
  liveWaterfall,
} from './terminal/live-view.ts'
import { keyOf, type LivePipeline, type LiveState } from './terminal/pipeline-rows.ts'
import { localAddress, whoAnswers } from './doctor/who-answers.ts'
import type { Config } from '../daemon/configuration/options.ts'
import { Agent, request } from 'undici'
import { Fault } from '../lib/fault.ts'
import { overviewShape, type Overview } from '../console/overview/overview-shape.ts'

export interface TopOptions {
  /** The address of the daemon's pages. By default it is read from the configuration. */
  readonly url?: string | undefined
  readonly json: boolean
  /** How many ms to wait before the view is redrawn. */
  readonly every: number
}

/** Throws Unanswered if no daemon responds. */
export async function top(terminal: Terminal, options: TopOptions, config: Config): Promise<number> {
  const { listen } = config.admin
  const from = options.url?.replace(/\/$/, '') ?? localAddress(listen, { scheme: 'http', basePath: config.basePath })
  const token = config.admin.token.current()
  const headers = token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }
  const dispatcher = createDispatcher()
  const ask = async (): Promise<LiveState> => overviewAt(from, headers, dispatcher)
  try {
    if (options.json) {
      printJson(terminal, await ask())
      return exitCode.done
    }
    const { stdout, env } = terminal
    if (stdout.isTTY !== true || env.TERM === 'dumb') {
      print(terminal, liveView(await ask(), { from, now: Date.now(), width: Infinity, height: Infinity, color: false }))
      return exitCode.done
    }
    return await follow(terminal, from, options.every, ask)
  } finally {
    // The dispatcher is destroyed, not closed, so that the command exits without waiting for a response.
    await dispatcher.destroy()
  }
}

/**
 * Redraws the view until q or Ctrl-C is pressed, and also after each key press and when the terminal is resized. If the daemon stops responding, a
 * message is shown and the requests continue. The terminal is restored however the command ends.
 */
async function follow(terminal: Terminal, from: string, every: number, ask: () => Promise<LiveState>): Promise<number> {
  const { stdout } = terminal
  const color = isColored(terminal)
  let state = await ask()
  let screen = firstScreen
  let opened: LivePipeline | undefined
  let failure: string | undefined
  const ending = new AbortController()
  const { signal } = ending

  function draw(): void {
    const [width, rows] = [stdout.columns ?? 80, stdout.rows ?? 24]
    const errorLines = failure === undefined ? [] : wrapped(plain(failure), width)
    const height = rows - 1 - errorLines.length
    const picture =
      opened === undefined
        ? liveView(state, { from, now: Date.now(), width, height, color, screen })
        : waterfallView(liveWaterfall(opened, { width, color }), { width, height, color, screen })
    stdout.write(`\x1b[H${[...errorLines, picture].join('\n').replaceAll('\n', '\x1b[K\n')}\x1b[J`)
  }
  function onKey(key: Key): void {
    const keys = listedPipelines(state, screen.filter).map(keyOf)
    const next = pressed(screen, key, { keys, page: Math.max(1, (stdout.rows ?? 24) - 10) })
    if (next === 'quit') {
      ending.abort()
      return
    }
    screen = next
    opened = openedIn(state)
    draw()
  }
  /** Returns the opened pipeline. If it is no longer listed, its last known state is returned. */
  function openedIn({ running, finished }: LiveState): LivePipeline | undefined {
    if (screen.opened === undefined) return undefined
    return [...running, ...finished].find(one => keyOf(one) === screen.opened) ?? opened
  }

  const ended = new Promise<'ended'>(resolve => signal.addEventListener('abort', () => resolve('ended')))
  const release = reads(terminal, { onKey, onEnd: () => ending.abort() })
  stdout.on('resize', draw)
  // Switches to the terminal's alternate screen: leaving it restores the previous content.
  stdout.write('\x1b[?1049h\x1b[?25l')
  try {
    while (!signal.aborted) {
      draw()
      await sleep(every, undefined, { signal }).catch(() => undefined)
      try {
        const answer = await Promise.race([ask(), ended])
        if (answer === 'ended') break
        state = answer
        opened = openedIn(state)
        failure = undefined
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error
        failure = error.message
      }
    }
  } finally {
    stdout.off('resize', draw)
    stdout.write('\x1b[?25h\x1b[?1049l')
    release()
  }
  return exitCode.done
}

/** Wraps text into lines of at most `width` columns. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (let rest = text; rest !== '';) {
    const line = cut(rest, Math.max(2, width))
    lines.push(line)
    rest = rest.slice(line.length)
  }
  return lines
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Calls back for each key press and signal. Returns a function that removes the listeners. */
function reads(
  { stdin }: Terminal,
  { onKey, onEnd }: { readonly onKey: (key: Key) => void; readonly onEnd: () => void },
): () => void {
  const onPress = (sequence: string | undefined, key: Key | undefined): void => onKey({ sequence, ...key })
  for (const name of signals) process.on(name, onEnd)
  const readsKeys = stdin?.isTTY === true && stdin.setRawMode !== undefined
  if (readsKeys) {
    emitKeypressEvents(stdin)
    stdin.setRawMode?.(true)
    stdin.on('keypress', onPress)
    stdin.resume()
  }
  return () => {
    for (const name of signals) process.off(name, onEnd)
    if (!readsKeys) return
    stdin.off('keypress', onPress)
    stdin.setRawMode?.(false)
    // Stdin is paused, because it would otherwise keep the process running.
    stdin.pause()
  }
}

/** Thrown if no overview could be fetched. */
export class Unanswered extends Fault {}

const timeoutMs = 5_000
/** The maximum size of a response in bytes. It is larger than any overview. */
const maxBytes = 32 * 1024 * 1024
/** The maximum number of pipelines in each list. */
const maxPipelines = 100

/** Creates the connections to a daemon. Destroying them aborts requests in flight. */
export function createDispatcher(): Agent {
  const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, maxResponseSize: maxBytes }
  return new Agent({ ...limits, connect: { timeout: timeoutMs } })
}

/**
 * Fetches the overview. `from` is the address of the pages, without a trailing slash. Throws Unanswered; its message names the program that responds
 * there instead, if any.
 */
export async function overviewAt(
  from: string,
  headers: Record<string, string>,
  dispatcher: Agent,
): Promise<LiveState & Pick<Overview, 'flow'>> {
  // Before the token is sent, it is checked that Pipespan responds, because another service must not receive the token.
  const answerer = await whoAnswers(from, { dispatcher, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
  if (answerer.is === 'nobody') {
    const remedy = 'Start the daemon with `pipespan serve`, or give the address of its pages with --url.'
    throw new Unanswered(`No daemon answers at ${from}: ${answerer.reason}.`, remedy)
  }
  if (answerer.is === 'another') {
    const remedy = "Give the address of the daemon's pages (PIPESPAN_ADMIN_LISTEN) with --url."
    throw new Unanswered(`Something listens at ${from}, but it is not Pipespan: ${answerer.what}.`, remedy)
  }
  const answer = await answerOf(`${from}/api/overview?limit=${maxPipelines}`, headers, dispatcher)
  const read = overviewShape.safeParse(jsonOf(answer?.text))
  if (answer?.status === 200 && read.success) return read.data
  if (answer?.status === 401) {
    const remedy = "Set PIPESPAN_ADMIN_TOKEN to the daemon's value."
    throw new Unanswered(`The daemon at ${from} does not accept the admin token configured here.`, remedy)
  }
  if (answer?.status === 429) {
    throw new Unanswered(`The daemon at ${from} is busy: too many requests are waiting.`, 'Try again in a few seconds.')
  }
  if (answer?.text.includes('PIPESPAN_PAGES=false') === true)
    throw new Unanswered(`The pages of the daemon at ${from} are off.`, 'Set PIPESPAN_PAGES=true and restart it.')
  const remedy =
    'Give the address of its pages (PIPESPAN_ADMIN_LISTEN) with --url, and use the same version as the daemon.'
  throw new Unanswered(
    `The daemon at ${from} returned no overview: ${answer?.status ?? 'the response ended early'}.`,
    remedy,
  )
}

/** Reads a response. Returns undefined if there is no response, or if it was truncated or is too long. */
async function answerOf(
  url: string,
  headers: Record<string, string>,
  dispatcher: Agent,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const { statusCode: status, body } = await request(url, { headers, dispatcher })
    return { status, text: await body.text() }
  } catch {
    return undefined
  }
}

function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}
