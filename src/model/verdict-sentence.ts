// Writes a verdict as a sentence: "1 m 57 s slower than usual: 57 s waiting for a retry of integration tests, 35 s in its failed attempt".
import { durationText, exactDurationText } from './instant.ts'
import type { FailedTests, Failure, Verdict } from './verdict.ts'
import type { VerdictPart } from './verdict-parts.ts'

/** Maximum length of a verdict's sentence, UTF-16 units. */
export const maxSentence = 500
/** Maximum number of parts that a sentence names individually. The remaining parts are summed up; the JSON contains all of them. */
const maxParts = 3
/** Minimum share of the total at which a part, or a sum of parts, is mentioned. */
const minShare = 0.05
/** Maximum number of jobs whose names the sentence lists when it shows their combined time as one figure. More jobs are only counted. */
const maxSummed = 2
/** Maximum number of failed jobs that a sentence names. */
const maxFailures = 3

/** Writes a verdict without an initial capital and without a full stop, so that it can be used within a sentence. */
export function verdictSentence(verdict: Verdict): string {
  return cut(sentenceOf(verdict))
}

function sentenceOf({ outcome, ms, parts, failures }: Verdict): string {
  const took = durationText(Math.abs(ms))
  switch (outcome) {
    case 'failed':
      return failed(failures, ms === 0 ? 'at once' : `after ${took}`)
    case 'canceled':
      return withParts(`canceled after ${took}`, ms, parts, false)
    case 'slower':
    case 'faster':
      return withParts(`${took} ${outcome} than usual`, ms, parts, true)
    case 'usual':
      return 'as usual'
    case 'took':
      return withParts(took, ms, parts, false)
  }
}

/**
 * Names the largest parts and sums up the others. Parts that lengthen the duration and parts that shorten it are summed separately. The parts and
 * sums in the sentence explain the total to within a tenth, because in each of these two directions less than `minShare` is omitted.
 */
function withParts(whole: string, ms: number, parts: readonly VerdictPart[], isCompared: boolean): string {
  const all = runnersAsOne(parts).sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms))
  // Without a run to compare with, the difference cannot be explained.
  if (all.every(({ kind }) => kind === 'other')) return whole
  const isGreat = (sum: number): boolean => sum !== 0 && Math.abs(sum) >= Math.abs(ms) * minShare
  const named = all.slice(0, maxParts).filter(part => isGreat(part.ms))
  const others = all.slice(named.length)
  const sums = [others.filter(part => part.ms > 0), others.filter(part => part.ms < 0)]
    .filter(some => isGreat(sumOf(some)))
    .sort((a, b) => Math.abs(sumOf(b)) - Math.abs(sumOf(a)))
  // Durations are shown to the second, because the lengthening parts and the shortening parts may each be much larger than the total.
  const text = isCompared && Math.abs(ms) < 3_600_000 ? exactDurationText : durationText
  const style: Style = { isCompared, text }
  const phrases = [
    ...named.map((part, at) => phrase(part, named[at - 1]?.name, style)),
    ...sums.map(some => sumPhrase(some, style)),
  ]
  return phrases.length === 0 ? whole : `${whole}: ${phrases.join(', ')}`
}

function sumOf(parts: readonly VerdictPart[]): number {
  return parts.reduce((sum, { ms }) => sum + ms, 0)
}

/** Describes the sum of several parts, all of which are positive or all negative. */
function sumPhrase(parts: readonly VerdictPart[], style: Style): string {
  const [first, ...others] = parts
  if (first !== undefined && others.length === 0) return phrase(first, undefined, style)
  const sum = figure(sumOf(parts), style)
  if (parts.some(({ kind }) => kind !== first?.kind)) return `${sum} elsewhere`
  const names = parts.map(({ name }) => name)
  if (first?.kind === 'section') return `${sum} in ${parts.length} other sections`
  if (first?.kind !== 'ran' || names.includes(undefined)) return `${sum} elsewhere`
  return `${sum} in ${names.length <= maxSummed ? names.join(' and ') : `${names.length} other jobs`}`
}

interface Style {
  /** Whether the run is compared with the usual duration. */
  readonly isCompared: boolean
  readonly text: (ms: number) => string
}

/** Formats a duration: `20 s`, or `20 s more` if it is compared with the usual duration. */
function figure(ms: number, { isCompared, text }: Style): string {
  const took = text(Math.abs(ms))
  return isCompared ? `${took} ${ms < 0 ? 'less' : 'more'}` : took
}

/** Sums up all waits for runners in one part. The part names the job only if there was a single wait. */
function runnersAsOne(parts: readonly VerdictPart[]): VerdictPart[] {
  const waits = parts.filter(({ kind }) => kind === 'runner')
  if (waits.length < 2) return [...parts]
  const ms = sumOf(waits)
  return [...parts.filter(({ kind }) => kind !== 'runner'), { kind: 'runner', times: waits.length, ms }]
}

function phrase({ kind, name, times, ms }: VerdictPart, before: string | undefined, style: Style): string {
  const compared = figure(ms, style)
  // A run of the usual duration rarely has failed attempts or retries. So all of the time that they take is extra, and "more" is left out.
  const took = ms < 0 ? compared : style.text(ms)
  switch (kind) {
    case 'ran':
      return name === undefined ? `${compared} running` : `${compared} in ${name}`
    case 'failed_attempt':
      if (name === before) return `${took} in ${times === 1 ? 'its failed attempt' : `its ${times} failed attempts`}`
      return `${took} in ${times === 1 ? 'a failed attempt' : `${times} failed attempts`} of ${name}`
    case 'retry':
      return `${took} waiting for ${times === 1 ? 'a retry' : `${times} retries`} of ${name === before ? 'it' : name}`
    case 'runner':
      return `${compared} waiting for a runner${name === undefined ? '' : ` for ${name}`}`
    case 'section':
      return `${took} in section ${name}`
    case 'before':
      return `${compared} waiting until ${name === before ? 'it' : name} began`
    case 'end':
      return `${compared} after the last job`
    case 'parallel':
      return `${compared} as ${ms < 0 ? 'more' : 'less'} ran in parallel`
    case 'other':
      return `${compared} elsewhere`
  }
}

function failed(failures: readonly Failure[], when: string): string {
  const [first, ...others] = failures
  if (first === undefined) return `failed ${when}`
  if (others.length === 0) {
    const why = reasonOf(first)
    return `failed${placeOf(first)}${why === undefined ? ` ${when}` : `: ${why}`}`
  }
  const named = failures.slice(0, maxFailures).map(failure => {
    const why = reasonOf(failure)
    return `${failure.job}${why === undefined ? '' : ` (${why})`}`
  })
  const more = failures.length - named.length
  const last = more === 0 ? named.pop() : `${more} more ${more === 1 ? 'job' : 'jobs'}`
  return `failed in ${named.join(', ')} and ${last}`
}

function placeOf({ job, section, tests }: Failure): string {
  if (job !== undefined) return ` in ${job}`
  // If failed tests are known, the section is not named, because the tests explain more than the section that ran them.
  return section === undefined || tests !== undefined ? '' : ` in section ${section}`
}

/**
 * Why a job failed: the failed tests, or else the failure reason. The reason `script_failure` is omitted, because most jobs fail in their script and
 * it explains nothing.
 */
function reasonOf({ tests, reason }: Failure): string | undefined {
  if (tests !== undefined && tests.failed > 0) return testsText(tests)
  return reason === undefined || reason === 'script_failure' ? undefined : reason.replaceAll('_', ' ')
}

function testsText({ total, failed: count, flaky = 0 }: FailedTests): string {
  const text = `${grouped(count)} of ${grouped(total)} ${total === 1 ? 'test' : 'tests'}`
  if (flaky === 0) return text
  if (flaky < count) return `${text}, ${grouped(flaky)} of them flaky before`
  return `${text}, ${count === 1 ? '' : count === 2 ? 'both ' : 'all '}flaky before`
}

/** Formats a number with separators, such as `12,345`. */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Truncates a sentence at a word boundary. */
function cut(text: string): string {
  if (text.length <= maxSentence) return text
  const begin = text.slice(0, maxSentence - 1)
  const space = begin.lastIndexOf(' ')
  return `${(space > 0 ? begin.slice(0, space) : begin).replace(/[\uD800-\uDBFF]$/, '')}…`
}
