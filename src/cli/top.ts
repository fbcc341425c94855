// `pipespan top`: a live view of a running daemon in a terminal: what runs, waits and fails. It reads the JSON API of the admin
// listener. If standard output is not a terminal, it prints one picture and ends.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { exitCode, print, type Terminal } from './terminal.ts'
import { Fault } from '../lib/fault.ts'
import { liveView, type LiveState } from '../terminal/live-view.ts'
import { localAddress } from './local-address.ts'
import { overview } from '../pages/api-shapes.ts'
import { whoAnswers } from './doctor/who-answers.ts'
import type { Config } from '../config/options.ts'

export interface TopOptions {
  /** The address of the pages. Default: from the configuration. */
  readonly url?: string | undefined
  readonly json: boolean
  /** Between two pictures, ms. */
  readonly every: number
}

/** No overview could be fetched. */
class Unanswered extends Fault {}

/** ms. */
const patience = 5_000
/** Bytes; larger than any overview. */
const longest = 8 * 1024 * 1024

/** Throws Unanswered if no daemon answers. */
export async function top(terminal: Terminal, options: TopOptions, config: Config): Promise<number> {
  const { listen } = config.admin
  const from = options.url?.replace(/\/$/, '') ?? localAddress(listen, { scheme: 'http', basePath: config.basePath })
  const token = config.admin.token.current()
  const headers = token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }
  const dispatcher = new Agent({ headersTimeout: patience, bodyTimeout: patience, connect: { timeout: patience } })
  const ask = async (): Promise<LiveState> => overviewAt(from, headers, dispatcher)
  try {
    if (options.json) {
      print(terminal, JSON.stringify(await ask()))
      return exitCode.done
    }
    const { stdout } = terminal
    if (stdout.isTTY !== true) {
      print(terminal, liveView(await ask(), { from, now: Date.now(), width: Infinity, height: Infinity, color: false }))
      return exitCode.done
    }
    return await follow(terminal, from, options.every, ask)
  } finally {
    await dispatcher.close()
  }
}

/** Draws until Ctrl-C. If the daemon stops answering, it says so and keeps trying. */
async function follow(terminal: Terminal, from: string, every: number, ask: () => Promise<LiveState>): Promise<number> {
  const { stdout } = terminal
  const color = terminal.env.NO_COLOR === undefined
  let state = await ask()
  let failure: string | undefined
  const ending = new AbortController()
  const ended = once(process, 'SIGINT', { signal: ending.signal }).then(() => ending.abort())
  // The terminal's alternate screen: leaving it restores what was there before.
  stdout.write('\x1b[?1049h\x1b[?25l')
  try {
    while (!ending.signal.aborted) {
      const size = { width: stdout.columns ?? 80, height: (stdout.rows ?? 24) - (failure === undefined ? 1 : 2) }
      const picture = liveView(state, { from, now: Date.now(), ...size, color })
      const lines = failure === undefined ? picture : `${failure}\n${picture}`
      stdout.write(`\x1b[H${lines.replaceAll('\n', '\x1b[K\n')}\x1b[J`)
      await Promise.race([sleep(every, undefined, { signal: ending.signal }).catch(() => undefined), ended])
      try {
        state = await ask()
        failure = undefined
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error
        failure = error.message
      }
    }
  } finally {
    ending.abort()
    await ended.catch(() => undefined)
    stdout.write('\x1b[?25h\x1b[?1049l')
  }
  return exitCode.done
}

/** Throws Unanswered, which says who answers there instead. */
async function overviewAt(from: string, headers: Record<string, string>, dispatcher: Agent): Promise<LiveState> {
  const answer = await answerOf(`${from}/api/overview`, headers, dispatcher)
  const read = overview.safeParse(jsonOf(answer?.text))
  if (answer?.status === 200 && read.success) return read.data
  const answerer = await whoAnswers(from, { dispatcher, headersTimeout: patience, bodyTimeout: patience })
  if (answerer.is === 'nobody') {
    const remedy = 'Start it with `pipespan serve`, or give the address of its pages with --url.'
    throw new Unanswered(`No daemon answers at ${from}: ${answerer.reason}.`, remedy)
  }
  if (answerer.is === 'another') {
    const remedy = "Give the address of the daemon's pages (PIPESPAN_ADMIN_LISTEN) with --url."
    throw new Unanswered(`Something listens at ${from}, but it is not Pipespan: ${answerer.what}.`, remedy)
  }
  if (answer?.status === 401) {
    const remedy = "Set PIPESPAN_ADMIN_TOKEN to the daemon's value."
    throw new Unanswered(`The daemon at ${from} does not accept the admin token configured here.`, remedy)
  }
  const remedy =
    'Give the address of its pages (PIPESPAN_ADMIN_LISTEN) with --url, and use the same version as the daemon.'
  throw new Unanswered(
    `The daemon at ${from} returned no overview: ${answer?.status ?? 'the answer ended early'}.`,
    remedy,
  )
}

/** Undefined without an answer, or if it ended early or is too long. */
async function answerOf(
  url: string,
  headers: Record<string, string>,
  dispatcher: Agent,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const { statusCode, body } = await request(url, { headers, dispatcher })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > longest) return undefined
    }
    return { status: statusCode, text: Buffer.concat(chunks).toString('utf8') }
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
