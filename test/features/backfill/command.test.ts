// Tests the command `pipespan backfill`: its output, its exit codes, and that its exports arrive.
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { allScenarios, scenarios } from '../../../src/simulator/platform/scenarios.ts'
import { Lifecycle } from '../../../src/simulator/platform/lifecycle.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { restRefusals } from '../../../src/simulator/platform/rest-replies.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import { runCommand } from '../../e2e/run-command.ts'
import { Timeline } from '../../../src/simulator/platform/timeline.ts'

const hour = 3_600_000

describe('pipespan backfill', () => {
  let folder: string
  let api: RestApi
  let receiver: OtlpReceiver
  let state: PlatformState
  const token = 'pat-73d1-secret'
  let crossProject: string | undefined
  let more: Record<string, string>
  let endpoint: string

  beforeEach(async () => {
    crossProject = undefined
    more = {}
    folder = temporaryFolder()
    state = new PlatformState()
    const timeline = new Timeline(Date.now() - 20 * hour)
    const random = new Random(3)
    const lifecycle = new Lifecycle(state, timeline, random, () => undefined)
    for (const name of allScenarios) lifecycle.create(scenarios[name](random))
    timeline.runAll()
    api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), token }))
    receiver = closeAfterTest(await OtlpReceiver.start({ keep: false }))
    endpoint = receiver.url
  })

  async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const env = {
      PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'pipespan.db')}`,
      PIPESPAN_PLATFORM_URL: api.url,
      PIPESPAN_PLATFORM_TOKEN: token,
      PIPESPAN_PLATFORM_BUDGET: '6000',
      PIPESPAN_SETTLE: '100ms',
      PIPESPAN_LOG_LEVEL: 'warn',
      PIPESPAN_WEBHOOK_TOKEN: 'hook-token',
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
      PIPESPAN_POLL_CROSS_PROJECT: crossProject,
      ...more,
    }
    const { code, stdout: out, stderr: err } = await runCommand(['backfill', ...args], env)
    return { code, out, err }
  }

  it('exports the pipelines that a backfill finds, and nothing on a second run', async () => {
    const exported: unknown[] = []
    receiver.on('received', ({ spans }) => {
      exported.push(...spans.filter(({ kind }) => kind === 'server').map(one => one.attributes['pipeline.id']))
    })
    const first = await run('--since', '2d', '--group', 'brightwater', '--deliver')
    expect(first.code).toBe(0)
    expect(first.out).toContain(`Pipelines seen: ${state.pipelines.size}, not exported yet: ${state.pipelines.size}.`)
    expect(first.out).toContain('Everything is exported.')
    expect(first.err).toContain('old timestamps')
    expect(exported.sort()).toEqual([...state.pipelines.keys()])
    const second = await run('--since', '2d', '--group', 'brightwater')
    expect(second.out).toContain('not exported yet: 0.')
    expect(JSON.stringify([first, second])).not.toContain(token)
  })

  it('sends no pending exports in a dry run, and ends although they are held for the former endpoint', async () => {
    const args = ['--since', '2d', '--project', 'brightwater/data/reports', '--deliver']
    const when = ({ signal }: { signal?: string | undefined }) => signal === 'traces' && process.emit('SIGINT')
    receiver.misbehave({ fault: { kind: 'status', status: 503 }, when })
    expect((await run(...args)).out).toContain('Stopped: unsent exports stay pending in the store.')
    receiver.behave()
    const { requests } = receiver.counts
    expect((await run(...args, '--dry-run')).out).toContain('Nothing was written.')
    expect(receiver.counts.requests).toBe(requests)
    endpoint = closeAfterTest(await OtlpReceiver.start({ keep: false })).url
    const { code, out } = await run(...args)
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/Everything is exported\. Earlier exports stay pending, .*: 1\.$/m),
    ])
  })

  it('fails a backfill if the backend refuses some of its exports', async () => {
    receiver.misbehave({ fault: { kind: 'status', status: 400 }, when: ({ signal }) => signal === 'logs' })
    const args = ['--since', '2d', '--project', 'brightwater/data/reports', '--deliver']
    const { code, out } = await run(...args, '--json')
    expect([code, JSON.parse(out)]).toEqual([1, expect.objectContaining({ delivered: false, refused: 1 })])
  })

  it('waits until the job logs of a backfill were read', async () => {
    more = { PIPESPAN_JOB_LOGS: 'all', PIPESPAN_PLATFORM_BUDGET: '1200' }
    const logs = () => api.asked.filter(one => one.path.endsWith('/trace')).length
    const args = ['--since', '2d', '--group', 'brightwater', '--deliver']
    expect((await run(...args)).out).toContain('Everything is exported.')
    const read = logs()
    expect(read).toBeGreaterThan(20)
    await run(...args)
    expect(logs()).toBe(read)
  })

  it('exports nothing in a dry run of a backfill, and prints how many pipelines and requests there would be', async () => {
    const { code, out } = await run('--since', '2d', '--project', 'brightwater/data/reports', '--dry-run')
    expect(code).toBe(0)
    expect(out).toMatch(/Nothing was written\. Fetching their details takes about 3 requests/)
    const scripted = await run('--since', '2d', '--project', 'brightwater/data/reports', '--dry-run', '--json')
    expect(JSON.parse(scripted.out)).toMatchObject({ dryRun: true, stopped: false, projects: 1, pipelines: 1, new: 1 })
  })

  it("backfills everything that the token may see by default, and only the pipelines of the token's user with --mine", async () => {
    const all = await run('--since', '2d', '--dry-run')
    expect(all.out).toContain(`Pipelines seen: ${state.pipelines.size}, not exported yet: ${state.pipelines.size}.`)
    const paths = () => new Set(api.asked.splice(0).map(({ path }) => path))
    expect(paths()).toContain('/projects')
    const mine = await run('--since', '2d', '--dry-run', '--mine')
    expect(mine.out).toContain(`Pipelines seen: ${state.pipelines.size},`)
    expect(paths()).toEqual(new Set(['/pipelines']))
    crossProject = 'false'
    expect((await run('--since', '2d')).err).toContain('No project is given. Use --project, --group or --mine')
    api.misbehave = ({ path }) => (path === '/pipelines' ? restRefusals.notFound('Not Found') : undefined)
    const { code, out } = await run('--since', '2d', '--mine', '--project', '301')
    expect(code).toBe(1)
    expect(out).toMatch(/The token's own pipelines were skipped: .*PIPESPAN_POLL_PROJECTS/)
  })

  it.each(['SIGINT', 'SIGTERM'])(
    'prints what a backfill has found so far if %s stops it while it lists projects',
    async signal => {
      api.misbehave = ({ path }) => {
        if (path.startsWith('/groups/')) process.emit(signal as 'SIGINT')
        return undefined
      }
      const args = ['--since', '2d', '--group', 'brightwater']
      const { code, out } = await run(...args)
      expect([code, out]).toEqual([
        0,
        'Stopped. 0 pipelines (0 new) in 0 of 0 projects seen. Run the same command again to resume.\n',
      ])
      const scripted = await run(...args, '--json')
      expect(scripted.code).toBe(0)
      expect(JSON.parse(scripted.out)).toEqual({ stopped: true, pipelines: 0, new: 0, requests: 0 })
    },
  )

  it.each([
    [['--since', 'yesterday'], 2, 'how long ago'],
    [['--since', '1d', '--until', '2d'], 2, '--until must be later than --since.'],
    [['--since', '2999-01-01'], 2, '--since must be in the past.'],
    [['--since', '1d', '--group', 'nobody'], 1, '404 Group Not Found'],
  ])('rejects the backfill options %j with exit code %i', async (args, code, words) => {
    const result = await run(...args)
    expect(result.err).toContain(words)
    expect(result.code).toBe(code)
  })
})
