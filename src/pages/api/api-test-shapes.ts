// The shapes of the JSON API's answers about tests. What is unknown is left out.
import { z } from 'zod'
import { millis, ms } from './api-units.ts'
import { reportFaultReasons } from '../../model/test-report.ts'

const test = { suite: z.string(), name: z.string() }

const figures = z.array(
  z.object({
    ...test,
    instance: z.string(),
    projectId: z.number(),
    project: z.string(),
    job: z.string().describe('Job name without the parallel index.'),
    times: z.number().describe('How often it was flaky, failed, or among the slowest of its report.'),
    lastAt: millis,
    jobId: z.number().describe('The latest job in which this happened.'),
    pipelineId: z.number(),
    costMs: ms.describe(
      'For failed and flaky tests, the duration of the jobs that failed with it; for slow tests, their own duration; in ms.',
    ),
  }),
)

const asked = { span: z.string(), since: millis, project: z.string().optional() }

export const flakyTests = z.object({ ...asked, flaky: figures })
export const costlyTests = z.object({ ...asked, failed: figures, slow: figures })

export const jobReport = z.object({
  totals: z.object({
    total: z.number(),
    passed: z.number(),
    failed: z.number(),
    errored: z.number(),
    skipped: z.number(),
    flaky: z.number(),
    seconds: z.number(),
  }),
  fault: z.object({ reason: z.enum(reportFaultReasons), detail: z.string() }).optional(),
  failures: z.array(
    z.object({
      ...test,
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
  flaky: z.array(z.object({ ...test, within: z.enum(['report', 'revision']) })),
})
