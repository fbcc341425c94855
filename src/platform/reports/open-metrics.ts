// Reads a job's metrics report line by line. Each line is a sample in the OpenMetrics text format (specification 1.0, "Text format"): a name, labels
// in braces, and a value. The reader is as lenient as the platform: types, help text and the end marker are optional, and anything after the value is
// ignored.
import { faultOf, ReportFault } from './report-fault.ts'
import { looksLikePlainText, textOf } from './unpack.ts'
import { reportCaps, type ReportCaps } from './report-fault.ts'
import { maxSecret, redactedTo, redactedValue, type RedactText } from '../../lib/text-redaction.ts'
import type { ReportedMetric } from '../../model/job-reports.ts'
import type { ReportRead } from '../port/inside.ts'

// Splits text, which may arrive in arbitrary chunks, into lines. Overlong lines are skipped.

/** Maximum length of a line, characters. */
const maxLineLength = 64 * 1024

/** Splits text into lines and passes each one on without its line break. */
interface LineReader {
  write(text: string): void
  /** Must be called at the end of the text. Any remaining text counts as the last line. */
  end(): void
  /** Number of lines skipped because they were too long. */
  readonly skipped: number
}

export function createLineReader(onLine: (line: string) => void): LineReader {
  let pending = ''
  let isTooLong = false
  let skipped = 0
  const finish = (line: string): void => {
    if (isTooLong || line.length > maxLineLength) skipped += 1
    else onLine(line)
    isTooLong = false
  }
  return {
    get skipped() {
      return skipped
    },
    write: text => {
      let from = 0
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
        finish(pending + text.slice(from, at).replace(/\r$/, ''))
        pending = ''
        from = at + 1
      }
      pending += text.slice(from)
      if (pending.length <= maxLineLength) return
      pending = ''
      isTooLong = true
    },
    end: () => {
      if (pending !== '' || isTooLong) finish(pending.replace(/\r$/, ''))
      pending = ''
    },
  }
}

/**
 * Limits of a metrics report. `names`, `series` and `texts` (total UTF-16 units of all strings) apply to a whole report, `labels` to a series, and
 * `text` (UTF-16 units) to a single string.
 */
export const metricLimits = { names: 50, series: 500, texts: 128 * 1024, labels: 16, text: 256 } as const

const sample = /^([A-Za-z_:][\w:]*)(?:[ \t]*\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]+([^\s#]{1,64})(?=[\s#]|$)/
const label = /[ \t,]*([A-Za-z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"/y
const figure = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i
/** Metric names that are reserved for other report types. */
const reservedNames: ReadonlySet<string> = new Set(['coverage', 'findings', 'dotenv'])
/** Matches label names that would clash with Pipespan's attributes. The format itself reserves the prefix `__`. */
const reservedLabels = /^(?:__|platform_|project_|vcs_|cicd_|otel_)/

/**
 * Reads a metrics report. `source`: the artifact's bytes. Returns one sample for each combination of name and labels; later samples replace earlier
 * ones. `dropped` counts samples that have no number or exceed the limits. Rejects only with an error from `source` itself.
 */
export async function readMetrics(
  source: AsyncIterable<Uint8Array>,
  redactText: RedactText,
  caps: ReportCaps = reportCaps,
): Promise<ReportRead> {
  const series = new Map<string, ReportedMetric>()
  const names = new Set<string>()
  let texts = 0
  let dropped = 0
  let readable = 0
  const keep = (metric: ReportedMetric): void => {
    const key = JSON.stringify([metric.name, metric.labels])
    if (!series.has(key)) {
      const isNew = !names.has(metric.name)
      const isFull = series.size >= metricLimits.series || texts + key.length > metricLimits.texts
      if (isFull || (isNew && names.size >= metricLimits.names)) {
        dropped += 1
        return
      }
      names.add(metric.name)
      texts += key.length
    }
    series.set(key, metric)
  }
  const lines = createLineReader(line => {
    const text = line.trim()
    if (text === '' || text.startsWith('#')) return
    const metric = metricOf(text, redactText)
    if (metric === undefined) dropped += 1
    else {
      readable += 1
      keep(metric)
    }
  })
  const fault = await faultOf(async () => {
    for await (const text of textOf(source, caps, looksLikePlainText)) lines.write(text)
    lines.end()
    if (readable === 0 && dropped > 0) throw new ReportFault('foreign', 'The report contains no metrics.')
  })
  const metrics = [...series.values()]
  return { report: metrics.length === 0 ? undefined : { metrics }, dropped: dropped + lines.skipped, fault }
}

/** Parses a line as a sample. Returns undefined if the line is not a sample with a number. */
function metricOf(line: string, redactText: RedactText): ReportedMetric | undefined {
  const [, name = '', braces = '', value = ''] = sample.exec(line) ?? []
  if (name === '' || reservedNames.has(name) || name.length > metricLimits.text || !figure.test(value)) return undefined
  const number = Number(value)
  // A metric whose name contains a secret is dropped. The name cannot be redacted, because renaming a metric turns it into a different one.
  if (!Number.isFinite(number) || redactText(name) !== name) return undefined
  return { name, labels: labelsOf(braces, redactText), value: number }
}

/** Parses the labels of a sample, redacts them, and sorts them by name so that their order does not matter. */
function labelsOf(braces: string, redactText: RedactText): Record<string, string> {
  const labels: [string, string][] = []
  label.lastIndex = 0
  for (let found = label.exec(braces); found !== null; found = label.exec(braces)) {
    const [, name = '', value = ''] = found
    if (labels.length >= metricLimits.labels || reservedLabels.test(name) || name.length > metricLimits.text) continue
    if (redactText(name) !== name) continue
    const text = unescaped(value.slice(0, 2 * (metricLimits.text + maxSecret)))
    labels.push([name, redactedTo(metricLimits.text, text, one => redactedValue(name, one, redactText))])
  }
  return Object.fromEntries(labels.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function unescaped(value: string): string {
  return value.includes('\\') ? value.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one)) : value
}
