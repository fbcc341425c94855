// `pipespan top`: a live view of a running daemon in a terminal: what runs, waits and fails. It reads the JSON API of the admin
// listener. If standard output is not a terminal that can be drawn on, it prints one picture and ends.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { exitCode, isColored, print, type Terminal } from './terminal.ts'
import { Fault } from '../lib/fault.ts'
import { liveView, type LiveState } from '../terminal/live-view.ts'
import { localAddress } from './local-address.ts'
import { overviewShape } from '../pages/overview/overview-shape.ts'
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
const timeoutMs = 5_000
/** Bytes; larger than any overview. */
const longest = 8 * 1024 * 1024

/** Throws Unanswered if no daemon answers. */
export async function top(terminal: Terminal, options: TopOptions, config: Config): Promise<number> {
  const { listen } = config.admin
  const from = options.url?.replace(/\/$/, '') ?? localAddress(listen, { scheme: 'http', basePath: config.basePath })
  const token = config.admin.token.current()
  const headers = token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }
  const dispatcher = new Agent({ headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect: { timeout: timeoutMs } })
  const ask = async (): Promise<LiveState> => overviewAt(from, headers, dispatcher)
  try {
    if (options.json) {
      print(terminal, JSON.stringify(await ask()))
      return exitCode.done
    }
    const { stdout, env } = terminal
    if (stdout.isTTY !== true || env.TERM === 'dumb') {
      print(terminal, liveView(await ask(), { from, now: Date.now(), width: Infinity, height: Infinity, color: false }))
      return exitCode.done
    }
    return await follow(terminal, from, options.every, ask)
  } finally {
    // Not `close`: whoever ends it need not wait for an answer.
    await dispatcher.destroy()
  }
}

/** Draws until q or Ctrl-C is pressed, and anew when the size changes. If the daemon stops answering, it says so and keeps trying. */
async function follow(terminal: Terminal, from: string, every: number, ask: () => Promise<LiveState>): Promise<number> {
  const { stdout } = terminal
  const color = isColored(terminal)
  let state = await ask()
  let failure: string | undefined
  const draw = (): void => {
    const [width, rows] = [stdout.columns ?? 80, stdout.rows ?? 24]
    const said = failure === undefined ? [] : (failure.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [])
    const picture = liveView(state, { from, now: Date.now(), width, height: rows - 1 - said.length, color })
    stdout.write(`\x1b[H${[...said, picture].join('\n').replaceAll('\n', '\x1b[K\n')}\x1b[J`)
  }
  const ending = new AbortController()
  const { signal } = ending
  const ended = new Promise<'ended'>(resolve => signal.addEventListener('abort', () => resolve('ended')))
  const release = endsBy(terminal, () => ending.abort())
  stdout.on('resize', draw)
  // The terminal's alternate screen: leaving it restores what was there before.
  stdout.write('\x1b[?1049h\x1b[?25l')
  try {
    while (!signal.aborted) {
      draw()
      await sleep(every, undefined, { signal }).catch(() => undefined)
      try {
        const answer = await Promise.race([ask(), ended])
        if (answer === 'ended') break
        state = answer
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

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Ctrl-C and Ctrl-D arrive as characters where keys are read. */
const endingKeys = /[qQ\x03\x04]/

/** Calls `end` at these keys and signals. Returns the function that stops listening. */
function endsBy({ stdin }: Terminal, end: () => void): () => void {
  const onKeys = (keys: Buffer | string): void => {
    if (endingKeys.test(String(keys))) end()
  }
  for (const name of signals) process.on(name, end)
  const readsKeys = stdin?.isTTY === true && stdin.setRawMode !== undefined
  if (readsKeys) {
    stdin.setRawMode?.(true)
    stdin.on('data', onKeys)
  }
  return () => {
    for (const name of signals) process.off(name, end)
    if (!readsKeys) return
    stdin.off('data', onKeys)
    stdin.setRawMode?.(false)
    // Otherwise the open terminal would keep the process running.
    stdin.pause()
  }
}

/** Throws Unanswered, which says who answers there instead. */
async function overviewAt(from: string, headers: Record<string, string>, dispatcher: Agent): Promise<LiveState> {
  const answer = await answerOf(`${from}/api/overview`, headers, dispatcher)
  const read = overviewShape.safeParse(jsonOf(answer?.text))
  if (answer?.status === 200 && read.success) return read.data
  const answerer = await whoAnswers(from, { dispatcher, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
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
  if (answer?.text.includes('PIPESPAN_PAGES=false') === true)
    throw new Unanswered(`The pages of the daemon at ${from} are off.`, 'Set PIPESPAN_PAGES=true and restart it.')
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
