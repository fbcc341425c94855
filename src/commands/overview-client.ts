// Asks a running daemon for its overview, and says who answers instead of it.
import { Agent, request } from 'undici'
import { Fault } from '../lib/fault.ts'
import { overviewShape, type Overview } from '../console/overview/overview-shape.ts'
import { whoAnswers } from './doctor/who-answers.ts'
import type { LiveState } from './terminal/live-state.ts'

/** No overview could be fetched. */
export class Unanswered extends Fault {}

/** ms. */
const timeoutMs = 5_000
/** Bytes; larger than any overview. */
const longest = 32 * 1024 * 1024
/** Pipelines of each list. */
const limit = 100

/** The connections to a daemon. To destroy them ends a request that is under way. */
export function createDispatcher(): Agent {
  const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, maxResponseSize: longest }
  return new Agent({ ...limits, connect: { timeout: timeoutMs } })
}

/** `from`: the address of the pages, without a slash at its end. Throws Unanswered, which says who answers there instead. */
export async function overviewAt(
  from: string,
  headers: Record<string, string>,
  dispatcher: Agent,
): Promise<LiveState & Pick<Overview, 'flow'>> {
  const answer = await answerOf(`${from}/api/overview?limit=${limit}`, headers, dispatcher)
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
  if (answer?.status === 429) {
    throw new Unanswered(`The daemon at ${from} is busy: too many requests wait there.`, 'Ask again in a few seconds.')
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
