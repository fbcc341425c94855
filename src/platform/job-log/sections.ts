// Builds the sections of a job's log from its markers, which arrive in log order.
//
// 1. A start marker opens a section within the innermost open section.
// 2. An end marker closes the innermost open section with its name, and all sections within that section. An end marker without a start is ignored.
// 3. At the end of the log, sections that are still open end with the job.
//
// The time of a marker is the timestamp of its line. If the line has none, the number in the marker is used, or the time of the previous marker if
// that number is implausible. The markers of kept sections divide the log into stretches. The lines of a stretch were written between the times of
// its two markers.
import { redactedTo, type RedactText } from '../../lib/text-redaction.ts'
import type { ReadMarker } from './log-reader.ts'
import type { Section } from '../../model/inside.ts'

/** The start and end of the job, in Unix ms. */
export interface JobTimes {
  readonly start: number
  readonly end: number
  /** True if the job's script failed. Then the section in which it failed is marked. */
  readonly isScriptFailure: boolean
}

/** The section that a line belongs to, which is the innermost open one. */
export interface Place {
  /** The ordinal of the innermost kept section; undefined if there is none. */
  readonly ordinal: number | undefined
  readonly name: string
}

interface Open {
  readonly ordinal: number
  readonly name: string
  readonly kind: Section['kind']
  /** The section as it is kept for export; undefined if the maximum number of kept sections was reached before it. */
  readonly kept: Kept | undefined
  /** The ordinal of the innermost kept section: this section or one that encloses it. */
  readonly nearest: number | undefined
}

interface Kept {
  readonly ordinal: number
  readonly parent: number | undefined
  readonly name: string
  readonly kind: Section['kind']
  title?: string
  isByLine: boolean
  readonly start: number
  end?: number
  failed?: true
}

/**
 * Maximum number of sections that are kept per job. 30 of them are reserved for the runner's own sections, because some of these are at the end of
 * the log.
 */
const maxKept = { all: 200, others: 170 }
/** Maximum number of sections that may be open at once. Sections that are nested deeper are only counted. */
const maxOpen = 1_000
const maxTitleLength = 128
const hour = 3_600_000
const second = 1_000

export class Sections {
  readonly #job: JobTimes
  readonly #open: Open[] = []
  readonly #kept: Kept[] = []
  /** Number of kept sections other than the runner's own. */
  #others = 0
  /** Number of all sections in the log. */
  #count = 0
  /** The time of the previous marker. */
  #last: number
  /** The times of the markers that divide the log, in log order. They are within the job's times and never decrease. */
  readonly #divides: number[] = []
  /** The last section that ran the job's script, and the innermost custom section that was open when that section ended. */
  #script: { readonly section: Kept | undefined; inner: Kept | undefined } | undefined

  constructor(job: JobTimes) {
    this.#job = job
    this.#last = job.start
  }

  /** Number of sections that are not kept. */
  get omitted(): number {
    return this.#count - this.#kept.length
  }

  /** The section that the next line belongs to. */
  get place(): Place | undefined {
    const top = this.#open.at(-1)
    return top && { ordinal: top.nearest, name: top.name }
  }

  /** The number of the log stretch that the next line belongs to, starting at 0. */
  get stretch(): number {
    return this.#divides.length
  }

  timesOf(stretch: number): { readonly start: number; readonly end: number } {
    return { start: this.#divides[stretch - 1] ?? this.#job.start, end: this.#divides[stretch] ?? this.#job.end }
  }

  marker(marker: ReadMarker): void {
    const isByLine = marker.stamp !== undefined
    const at = isByLine ? marker.stamp.at : this.#atNumber(marker.number)
    this.#last = at
    if (marker.edge === 'start') this.#begin(marker.name, at, isByLine)
    else this.#end(marker.name, at, isByLine)
  }

  /** Sets the title of the most recently opened section. */
  title(text: string): void {
    const kept = this.#open.at(-1)?.kept
    // The title of a script's section is a command, which may contain secrets.
    if (kept !== undefined && kept.kind !== 'script') kept.title = text
  }

  /** Called at the end of the log. Returns its sections. Their names and titles are redacted before they are truncated. */
  finish(redactText: RedactText): readonly Section[] {
    const { end, isScriptFailure } = this.#job
    const script = this.#open.find(({ name, kind }) => kind === 'runner' && runsScript(name))
    if (script !== undefined) this.#noteScript(script)
    for (const { kept } of this.#open.splice(0)) if (kept !== undefined) kept.end ??= end
    if (isScriptFailure && this.#script !== undefined) {
      const { section, inner } = this.#script
      if (section !== undefined) section.failed = true
      if (inner !== undefined) inner.failed = true
    }
    return this.#kept.map(kept => this.#sectionOf(kept, redactText))
  }

  #begin(name: string, at: number, isByLine: boolean): void {
    this.#count += 1
    if (this.#open.length >= maxOpen) return
    const ordinal = this.#count
    const around = this.#open.at(-1)
    const kind = sectionKindOf(name, around !== undefined)
    const isOther = kind !== 'runner'
    const hasPlace = this.#kept.length < maxKept.all && (!isOther || this.#others < maxKept.others)
    const parent = around?.nearest
    const kept = hasPlace ? { ordinal, parent, name, kind, isByLine, start: at } : undefined
    if (kept !== undefined) {
      this.#kept.push(kept)
      this.#divide(at)
    }
    if (hasPlace && isOther) this.#others += 1
    this.#open.push({ ordinal, name, kind, kept, nearest: kept?.ordinal ?? parent })
  }

  #end(name: string, at: number, isByLine: boolean): void {
    const index = this.#open.findLastIndex(one => one.name === name)
    const closed = this.#open[index]
    if (closed === undefined) return
    if (closed.kind === 'runner' && runsScript(name)) this.#noteScript(closed)
    const ended = this.#open.splice(index)
    if (ended.some(({ kept }) => kept !== undefined)) this.#divide(at)
    for (const { kept } of ended) {
      if (kept === undefined) continue
      kept.end = at
      kept.isByLine &&= isByLine
    }
  }

  /** Begins a new stretch of the log. A marker's clock may be wrong, but the lines after it were certainly written later than the lines before it. */
  #divide(at: number): void {
    this.#divides.push(Math.max(this.#divides.at(-1) ?? this.#job.start, this.#withinJob(at)))
  }

  #noteScript(script: Open): void {
    const within = this.#open.slice(this.#open.indexOf(script) + 1)
    this.#script = {
      section: script.kept,
      inner: within.findLast(({ kept, kind }) => kept !== undefined && kind !== 'runner')?.kept,
    }
  }

  #atNumber(number: string): number {
    const at = instantOf(number)
    const { start, end } = this.#job
    return at >= start - hour && at <= end + hour ? at : this.#last
  }

  #withinJob(at: number): number {
    return Math.min(Math.max(at, this.#job.start), this.#job.end)
  }

  /** Builds the section for export. Its times are shifted to fall within the job's times, and its end is never before its start. */
  #sectionOf(
    { isByLine, end = this.#job.end, start, name, title, failed, ...facts }: Kept,
    redactText: RedactText,
  ): Section {
    const [from, until] = [this.#withinJob(start), this.#withinJob(end)]
    const to = Math.max(from, until)
    const shift = Math.round(Math.max(Math.abs(from - start), Math.abs(until - end)))
    return {
      ...{ ...facts, name: redactText(name) },
      ...(title !== undefined && { title: shortTitle(redactedTo(2 * maxTitleLength, title, redactText).trim()) }),
      ...{ clock: isByLine ? 'line' : 'marker', start: from, end: to },
      ...(shift > second && { clockShift: shift }),
      ...(failed && { failed }),
    }
  }
}

/** Truncates a title to a number of characters rather than UTF-16 units. */
function shortTitle(title: string): string {
  return Array.from(title).slice(0, maxTitleLength).join('')
}

/** The names of the sections that the runner itself marks. They are taken from the runner's source code. */
const stages: ReadonlySet<string> = new Set([
  ...['resolve_secrets', 'prepare_executor', 'prepare_script', 'pull_image', 'get_sources', 'clear_worktree'],
  ...['restore_cache', 'download_artifacts', 'step_script', 'build_script', 'after_script', 'archive_cache'],
  ...['archive_cache_on_failure', 'upload_artifacts_on_success', 'upload_artifacts_on_failure'],
  ...['cleanup_file_variables', 'cleanup_script'],
])

/**
 * Returns who marked the section: the runner for its own work, the runner for a command of the script, or the script itself. The runner marks the
 * steps of a job as `step_…`, with any name, but never within another section.
 */
function sectionKindOf(name: string, isWithin: boolean): 'runner' | 'script' | 'custom' {
  if (stages.has(name) || (!isWithin && /^step_[a-z0-9_]{1,64}$/.test(name))) return 'runner'
  return scriptStep.test(name) ? 'script' : 'custom'
}

/** The runner marks each multi-line command as a section. The section's title is the command. */
const scriptStep = /^section_script_step_\d+$/

/** True for sections that run the job's script. A failed script has failed in the last of these sections. */
export function runsScript(name: string): boolean {
  return name.startsWith('step_') || name === 'build_script'
}

/** The time of a marker, in Unix ms. The unit of the number is inferred from its magnitude, because some versions of `awk` do not print seconds. */
function instantOf(number: string): number {
  const value = Number(number)
  if (value < 2 ** 32) return value * 1_000
  if (value < 2 ** 32 * 1e3) return value
  return value < 2 ** 32 * 1e6 ? value / 1e3 : value / 1e6
}
