// The test report on a job's page: totals, and failed tests with their messages.
import { z } from 'zod'
import { card } from '../../../console/layout/frame.ts'
import { counted, duration, number } from '../../../console/layout/format.ts'
import { html, type Content, type Html } from '../../../console/layout/html.ts'
import { reportFaultReasons, type ReportFaultReason, type TestFailure } from '../../../model/test-report.ts'
import type { Shaped } from '../../../console/layout/shape.ts'
import type { FlakyTest } from '../../../model/job-tests.ts'
import type { JobInside } from '../../../model/inside.ts'

/** The reasons why a test report is incomplete. `foreign` is not among them, because it does not occur for test reports. */
const faultReason: z.ZodType<ReportFaultReason> = z.enum(reportFaultReasons)

export const jobReportShape = z.object({
  totals: z.object({
    total: z.number(),
    passed: z.number(),
    failed: z.number(),
    errored: z.number(),
    skipped: z.number(),
    flaky: z.number(),
    seconds: z.number(),
  }),
  fault: z.object({ reason: faultReason, detail: z.string() }).optional(),
  failures: z.array(
    z.object({
      suite: z.string(),
      name: z.string(),
      result: z.enum(['fail', 'error']),
      file: z.string().optional(),
      line: z.number().optional(),
      seconds: z.number().optional(),
      type: z.string().optional(),
      message: z.string().optional(),
      stack: z.string().optional(),
    }),
  ),
  left: z.number().describe('Number of further failed tests.'),
  flaky: z.array(z.object({ suite: z.string(), name: z.string(), within: z.enum(['report', 'revision']) })),
})
/** A job's test report contains at most 100 failures with their messages. */
export type JobReport = Shaped<typeof jobReportShape>

/**
 * Returns the test report of the job's last run: a manual job that is run again keeps its id, so it may have several reports. Returns undefined if no
 * report was read.
 */
export function reportOf(insides: readonly JobInside[]): JobReport | undefined {
  const parts = insides.flatMap(({ tests }) => tests ?? [])
  const begin = parts.findLastIndex(({ summary }) => summary !== undefined)
  const summary = parts[begin]?.summary
  if (summary === undefined) return undefined
  const own = parts.slice(begin)
  return {
    totals: summary.totals,
    fault: summary.fault,
    failures: own.flatMap(({ failures }) => failures ?? []),
    left: summary.dropped.failures,
    flaky: own.flatMap(({ flaky }) => flaky ?? []),
  }
}

export function testsCard({ totals, fault, failures, left, flaky }: JobReport): Html {
  const { total, failed, errored, skipped, seconds } = totals
  const counts = [
    failed > 0 && `${number(failed)} failed`,
    errored > 0 && `${number(errored)} ended in an error`,
    skipped > 0 && `${number(skipped)} skipped`,
  ].filter(Boolean)
  return card(
    'Tests',
    html`<p>
        <strong>${counted(total, 'test')}</strong> in
        ${duration(seconds * 1_000)}${total > 0 && `: ${counts.length === 0 ? 'all passed' : counts.join(', ')}`}.
      </p>
      ${fault !== undefined && html`<p class="dim">${faultText(fault)}</p>`}
      ${failures.map((failure, index) => failedTest(failure, index === 0))}
      ${left > 0 && html`<p class="dim">${counted(left, 'more failure')} left out.</p>`}
      ${flaky.length > 0 && html`<h3>Flaky</h3>`}
      ${
        flaky.length > 0 &&
        html`<ul class="plain-list">
          ${flaky.map(({ suite, name, within }) => html`<li>${name}${suite !== '' && html` <span class="dim">${suite}</span>`}: ${seenIn[within]}</li>`)}
        </ul>`
      }`,
  )
}

function faultText({ reason, detail }: NonNullable<JobReport['fault']>): string {
  return reason === 'mismatch' ? detail : `The report could not be read completely: ${detail}`
}

const seenIn: Readonly<Record<FlakyTest['within'], string>> = {
  report: 'failed, then passed when repeated',
  revision: 'failed and passed on the same revision',
}

function failedTest(
  { name, suite, result, file, line, seconds, type, message, stack }: TestFailure,
  isOpen: boolean,
): Html {
  const place = file === undefined ? undefined : `${file}${line === undefined ? '' : `:${line}`}`
  // In most frameworks a stack trace begins with the message, so a message that is part of the stack trace is not shown separately.
  const words = stack !== undefined && message !== undefined && stack.includes(message) ? undefined : message
  const about = [
    suite,
    place,
    seconds !== undefined && duration(seconds * 1_000),
    type,
    result === 'error' && 'an error',
  ].filter(Boolean)
  return html`<details class="test-failure" ${isOpen && html` open`}>
    <summary><strong class="test-name">${name}</strong></summary>
    ${about.length > 0 && html`<p class="dim test-name">${about.join(' · ')}</p>`}
    ${words !== undefined && printed(words, `Message of ${name}`)}
    ${stack !== undefined && printed(stack, `Stack trace of ${name}`)}
    ${words === undefined && stack === undefined && html`<p class="dim">The report does not say why.</p>`}
  </details>`
}

/** The template is on one line, because a browser would show line breaks within `pre`. */
function printed(text: Content, description: string): Html {
  return html`<div class="scroll printed" tabindex="0" role="region" aria-label="${description}">
    <pre>${text}</pre>
  </div>`
}
