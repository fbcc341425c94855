// Tests which audit events `pipespan backfill --audit` exports, and what it prints.
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { hour } from '../../flow/world.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import { runCommand } from '../../e2e/run-command.ts'

const token = 'pat-73d1-secret'
const state = new PlatformState()
let receiver: OtlpReceiver

async function environment(more: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const api = closeAfterTest(await RestApi.start({ state, now: () => Date.now(), token }))
  receiver = closeAfterTest(await OtlpReceiver.start({ keep: false }))
  return {
    PIPESPAN_STORE_URL: `sqlite:${path.join(temporaryFolder(), 'pipespan.db')}`,
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: token,
    PIPESPAN_PLATFORM_BUDGET: '6000',
    PIPESPAN_LOG_LEVEL: 'warn',
    PIPESPAN_WEBHOOK_TOKEN: 'hook-token',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
    ...more,
  }
}

async function run(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  const { code, stdout: out, stderr: err } = await runCommand(['backfill', ...args], env)
  return { code, out, err }
}

it('exports past audit events, and reports a group whose audit events the token may not read', async () => {
  const env = await environment({ PIPESPAN_AUDIT: 'brightwater,nobody' })
  const random = new Random(4)
  for (let n = 0; n < 130; n += 1) state.audit.happen(random, Date.now() - (n + 1) * hour)
  const ids = new Set<unknown>()
  receiver.on('received', ({ logs }) => logs.forEach(({ attributes }) => ids.add(attributes['platform.audit.id'])))
  const dry = await run(env, '--since', '9d', '--audit', '--dry-run')
  expect(dry.out).toContain('130 audit events seen, 3 requests.\n')
  const first = await run(env, '--since', '9d', '--audit', '--deliver')
  expect(first.out).toContain('The audit events of group nobody were skipped: ')
  expect(first.out).toContain('Everything is exported.')
  expect(first.code).toBe(1)
  expect(ids.size).toBe(130)
  expect(JSON.stringify([dry, first])).not.toContain(token)
})

it.each([
  [['--since', '1d', '--audit'], 1, 'No audit events are configured.'],
  [['--since', '1d', '--audit', '--group', 'brightwater'], 2, 'PIPESPAN_AUDIT'],
  [['--since', '1d', '--audit', '--mine'], 2, 'omit --project, --group and --mine'],
])('rejects the audit backfill options %j with exit code %i', async (args, code, words) => {
  const result = await run(await environment({}), ...args)
  expect(result.err).toContain(words)
  expect(result.code).toBe(code)
})
