// Fetches a job's log for a page and redacts it in the same way as exported lines. The log is not stored.
import { createKeyWatch, inTurns, redacted } from '../../lib/text-redaction.ts'
import { createDebugWatch } from './read-log.ts'
import { KeptLines, type KeptLine } from './kept-lines.ts'
import { LogReader } from './log-reader.ts'
import { PlatformError, type PlatformClient } from '../port.ts'
import { Sections } from './sections.ts'
import { withoutControls } from '../../lib/plain-text.ts'
import type { ShowLog, ShownJob, ShownLine, ShownLog, ShowRules, StyledText } from '../port/inside.ts'

// Matches the control sequences in a log line that set colours and styles (ECMA-48, SGR).

const styleSequence = /\u001b\[([\d;]*)m/

/**
 * Splits a line into runs of text that each have one style. `raw`: a line with its control sequences. The runs joined together equal
 * `withoutControls(raw)`. Backgrounds and colours above 15 are ignored.
 */
export function runsOf(raw: string): readonly StyledText[] {
  const whole = withoutControls(raw)
  if (!raw.includes('\u001b')) return [{ text: whole }]
  const runs: StyledText[] = []
  let style: Style = {}
  raw.split(styleSequence).forEach((part, index) => {
    if (index % 2 === 1) style = changed(style, part)
    else if (withoutControls(part) !== '') runs.push({ text: withoutControls(part), ...style })
  })
  return runs.map(({ text }) => text).join('') === whole ? runs : [{ text: whole }]
}

type Style = Pick<StyledText, 'bold' | 'colour'>

/** Returns the style that results from applying the codes of one control sequence to the style `before`. */
function changed(before: Style, sequence: string): Style {
  let { bold, colour } = before
  const codes = sequence.split(';').map(Number)
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0
    if (code === 0) [bold, colour] = [undefined, undefined]
    else if (code === 1) bold = true
    else if (code === 22) bold = undefined
    else if (code >= 30 && code <= 37) colour = code - 30
    else if (code >= 90 && code <= 97) colour = code - 82
    else if (code === 39) colour = undefined
    else if (code === 38 || code === 48) {
      const shade = codes[at + 2] ?? 16
      if (code === 38) colour = codes[at + 1] === 5 && shade < 16 ? shade : undefined
      at += codes[at + 1] === 5 ? 2 : 4
    }
  }
  return { ...(bold && { bold }), ...(colour !== undefined && { colour }) }
}

/** Maximum number of logs that are fetched at once, because each log is kept in memory. */
const maxConcurrent = 2
/** Maximum number of bytes of a log that are shown, including colour codes. */
const maxShown = 1024 * 1024
const minute = 60_000

export function createShowLog(client: Pick<PlatformClient, 'jobLog'>, rules: ShowRules): ShowLog {
  const { redactText, readMax, maxPerMinute, timeoutMs = 30_000, clock } = rules
  let busy = 0
  let begun: readonly number[] = []
  return async job => {
    const now = clock.now()
    begun = begun.filter(at => Math.abs(now - at) < minute)
    if (busy >= maxConcurrent) return refused('Other logs are being fetched.', 'Try again in a few seconds.')
    if (begun.length >= maxPerMinute) {
      const what = `${maxPerMinute} logs were fetched within a minute; the rest of the API budget is reserved for pipelines.`
      return refused(what, 'Try again in a minute, or read the log on the platform.')
    }
    begun = [...begun, now]
    busy += 1
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      return await fetchLog(job, signal)
    } catch (error) {
      if (error instanceof PlatformError) return refused(error.message, '')
      if (!signal.aborted) throw error
      const what = `The platform did not return the log within ${timeoutMs / 1_000} s, or the API budget is used up.`
      return refused(what, 'Try again later, or read the log on the platform.')
    } finally {
      busy -= 1
    }
  }

  async function fetchLog({ projectId, id, ...times }: ShownJob, signal: AbortSignal): Promise<ShownLog> {
    const sections = new Sections(times)
    const kept = new KeptLines(maxShown)
    const isKey = createKeyWatch()
    const isTraced = createDebugWatch()
    const found = { isTraced: false }
    const reader = new LogReader({
      marker: marker => sections.marker(marker),
      title: text => sections.title(text),
      line: (line, raw) => {
        found.isTraced = isTraced(line.text)
        // The lines are stored with their colour codes. Secrets are redacted later, in the text without colour codes.
        kept.add({ ...line, text: isKey(line.text) ? redacted : raw }, sections.place)
      },
    })
    const call = { priority: 'page', signal, maxBytes: readMax } as const
    const { isWhole } = await client.jobLog(projectId, id, { ...call, onWindow: window => reader.feed(window) })
    signal.throwIfAborted()
    reader.end()
    if (found.isTraced) return { as: 'traced' }
    const clean = inTurns(redactText)
    const lines: ShownLine[] = []
    for (const line of [...kept.head, ...kept.tail]) lines.push(await shownLine(line, clean))
    return {
      ...{ as: 'log', lines, sections: sections.finish(redactText) },
      ...{ missing: kept.missing, isWhole },
    }
  }
}

function refused(what: string, remedy: string): ShownLog {
  return { as: 'refused', what, remedy }
}

/** Redacts a line of a job's log. A line that contained a secret loses its colours, because the colour may have changed within the secret. */
async function shownLine(
  { number, place, text: raw }: KeptLine,
  redactText: (text: string) => Promise<string>,
): Promise<ShownLine> {
  const runs = runsOf(raw)
  const text = runs.map(run => run.text).join('')
  const clean = await redactText(raw)
  return { number, runs: clean === text ? runs : [{ text: clean }], section: place?.ordinal }
}
