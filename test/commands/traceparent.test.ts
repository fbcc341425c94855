// Tests the data that a job can compute about its own span. It is compared with the exported spans and with the shell snippets in the documentation.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compiled, shipped } from '../shipped.ts'
import { runCommand } from '../e2e/run-command.ts'
import { isFull } from '../full.ts'
import { jobTraceparent, type TraceparentOptions } from '../../src/commands/traceparent.ts'

const repository = path.join(import.meta.dirname, '..', '..')
const job = { CI_SERVER_URL: 'https://git.example.com', CI_PIPELINE_ID: '4711', CI_JOB_ID: '90210' }

async function pipespan(args: readonly string[], env: Record<string, string>) {
  const { code: status, ...printed } = await runCommand(args, env)
  return { status, ...printed }
}

/** Runs `pipespan` in a separate process, as a job does. */
function shippedPipespan(args: readonly string[], env: Record<string, string>) {
  return spawnSync(process.execPath, [shipped, ...args], {
    env: { ...env, NODE_COMPILE_CACHE: compiled },
    encoding: 'utf8',
  })
}

function traceparentOf(env: Record<string, string>, options: TraceparentOptions = {}): string {
  const result = jobTraceparent(env, options)
  return result.ok ? result.traceparent : `fault: ${result.faults.join(' ')}`
}

/** Returns the shell snippet that follows the marker of this scheme in the documentation. */
function shellLines(scheme: string): string {
  const page = readFileSync(path.join(repository, 'docs/ci-usage.md'), 'utf8')
  const [, lines] = page.split(`test/commands/traceparent.test.ts (${scheme}) -->\n\`\`\`sh\n`)
  return lines?.split('\n```')[0] ?? ''
}

describe('the command `pipespan traceparent`', () => {
  it.each(['instance', 'platform'])('prints the IDs of the span that is exported for the job (%s)', async ids => {
    const file = path.join(repository, 'test/fixtures/webhooks/pipeline-failed.json')
    const payload = JSON.parse(readFileSync(file, 'utf8')) as {
      object_attributes: { id: number }
      builds: { id: number; name: string; started_at: string | null }[]
    }
    const ran = payload.builds.find(build => build.started_at !== null)
    const instance = 'https://git.example.com'
    const settings = { PIPESPAN_TRACE_IDS: ids, PIPESPAN_PLATFORM_URL: instance, PIPESPAN_WEBHOOK_TOKEN: 'x' }
    const { resourceSpans } = JSON.parse((await pipespan(['map', file, '--json'], settings)).stdout) as {
      resourceSpans: { scopeSpans: { spans: { traceId: string; spanId: string; name: string }[] }[] }[]
    }
    const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans))
    const span = spans.find(({ name }) => name === `job: ${ran?.name}`)
    const { stdout, status } = await pipespan(['traceparent'], {
      PIPESPAN_TRACE_IDS: ids,
      CI_SERVER_URL: instance,
      CI_PIPELINE_ID: String(payload.object_attributes.id),
      CI_JOB_ID: String(ran?.id),
    })
    expect(stdout).toBe(`00-${span?.traceId}-${span?.spanId}-01\n`)
    expect(status).toBe(0)
  })

  it.each(['instance', 'platform'])(
    'prints the same traceparent as the shell snippet in the documentation (%s)',
    ids => {
      const id = fc.integer({ min: 1, max: 2 ** 40 }).map(String)
      fc.assert(
        fc.property(id, id, fc.option(id), (pipelineId, jobId, root) => {
          const env = {
            CI_SERVER_URL: 'https://git.example.com/ci',
            CI_PIPELINE_ID: pipelineId,
            CI_JOB_ID: jobId,
            ...(root === null ? {} : { PIPESPAN_ROOT_PIPELINE_ID: root }),
          }
          const script = `${shellLines(ids)}\nprintf %s "$TRACEPARENT"`
          const output = execFileSync('sh', ['-eu', '-c', script], {
            env: { ...env, PATH: process.env.PATH },
            encoding: 'utf8',
          })
          expect(output).toBe(traceparentOf(env, { ids }))
        }),
        { numRuns: isFull ? 15 : 4 },
      )
    },
  )

  it('uses the root pipeline from the variable that trigger jobs pass on', () => {
    const child = { ...job, CI_PIPELINE_SOURCE: 'parent_pipeline', PIPESPAN_ROOT_PIPELINE_ID: '4000' }
    expect(traceparentOf(child)).toBe(traceparentOf({ ...job, CI_PIPELINE_ID: '4000' }))
    expect(traceparentOf({ ...child, PIPESPAN_ROOT_PIPELINE_ID: '' }, { root: 4000 })).toBe(traceparentOf(child))
  })

  it.each(['parent_pipeline', 'pipeline'])('does not guess the root of a pipeline whose source is %s', async source => {
    const { stdout, stderr, status } = await pipespan(['traceparent'], { ...job, CI_PIPELINE_SOURCE: source })
    expect({ stdout, status }).toEqual({ stdout: '', status: 2 })
    expect(stderr).toContain('PIPESPAN_ROOT_PIPELINE_ID: $CI_PIPELINE_ID')
  })

  it('normalises the instance in the same way as the daemon', () => {
    const plain = traceparentOf(job)
    expect(traceparentOf({ ...job, CI_SERVER_URL: 'HTTPS://Git.Example.com:443/' })).toBe(plain)
    expect(traceparentOf({ ...job, CI_SERVER_URL: 'http://internal' }, { instance: 'https://git.example.com' })).toBe(
      plain,
    )
  })

  it("keeps the trace ID from a configured TRACEPARENT, with the job's own span ID", () => {
    const outer = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const own = traceparentOf(job).split('-')[2]
    expect(traceparentOf({ ...job, PIPESPAN_TRACEPARENT: 'true', TRACEPARENT: outer })).toBe(
      `00-0af7651916cd43dd8448eb211c80319c-${own}-01`,
    )
    expect(traceparentOf({ ...job, TRACEPARENT: outer })).toBe(traceparentOf(job))
    // The command accepts the same spellings of a traceparent as the daemon.
    const honoured = traceparentOf({ ...job, PIPESPAN_TRACEPARENT: 'true', TRACEPARENT: outer })
    for (const same of [`  ${outer}\n\n`, outer.replace(/^00/, '01'), `${outer.replace(/^00/, '01')}-more`]) {
      expect(traceparentOf({ ...job, PIPESPAN_TRACEPARENT: 'true', TRACEPARENT: same })).toBe(honoured)
    }
  })

  it('lists every missing variable outside of a CI job', () => {
    const { stdout, stderr, status } = shippedPipespan(['traceparent'], { CI_JOB_ID: 'x' })
    expect({ stdout, status }).toEqual({ stdout: '', status: 2 })
    for (const name of ['CI_PIPELINE_ID', 'CI_JOB_ID', 'CI_SERVER_URL']) expect(stderr).toContain(name)
  })
})
