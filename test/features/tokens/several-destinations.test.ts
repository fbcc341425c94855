// Tests one daemon with two destinations, each an instance with its own tokens: a failure of one token does not affect the other destination.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { generatePipeline, type GeneratedFamily } from '../../support/generate.ts'
import { ResendingSender } from '../../e2e/resending-sender.ts'
import { Daemon, run, webhookToken } from '../../e2e/daemon.ts'
import { complete, differences } from '../../e2e/truth.ts'
import { until } from './loaded-daemon.ts'
import { startInstance, type ObservabilityInstance } from '../../support/observability-instance.ts'

const secondPipelines = { pipeline: 9_000_000, job: 90_000_000 }

async function anInstance(): Promise<ObservabilityInstance> {
  return closeAfterTest(await startInstance())
}

it("a refused token stops only its own destination, is rotated separately, and the daemon reports each destination's token", async () => {
  const [one, two] = [await anInstance(), await anInstance()]
  const folder = temporaryFolder()
  const [fileOne, fileTwo] = [path.join(folder, 'one'), path.join(folder, 'two')]
  writeFileSync(fileOne, one.add('pipespan').value)
  writeFileSync(fileTwo, two.add('pipespan').value)
  const config = path.join(folder, 'pipespan.yaml')
  writeFileSync(config, `destinations:\n  - {name: second, endpoint: "${two.url}", token_file: ${fileTwo}}\n`)
  const daemon = await Daemon.start({
    PIPESPAN_CONFIG: config,
    OTEL_EXPORTER_OTLP_ENDPOINT: one.url,
    SERVICE_OBSERVABILITY_TOKEN_FILE: fileOne,
    // The long timeout prevents late answers: a send without an answer is rightly repeated, but this test counts every export.
    OTEL_EXPORTER_OTLP_TIMEOUT: '300000',
  })
  const managing = { PIPESPAN_OBSERVABILITY_URL: two.url, PIPESPAN_OBSERVABILITY_API_KEY: two.apiKey }
  const command = async (...args: string[]) => run(args, { ...daemon.env, ...managing })
  const sender = closeAfterTest(new ResendingSender({ url: daemon.webhooks, token: webhookToken, concurrency: 1 }))
  const send = async ({ deliveries }: GeneratedFamily) => sender.sendAll(deliveries)
  const arrived = async (at: ObservabilityInstance, { pipelines }: GeneratedFamily, which: string) => {
    const isComplete = complete(pipelines)
    await until(() => isComplete(at.spans), which)
  }

  const first = generatePipeline(1, 'branch')
  await send(first)
  await arrived(one, first, 'the first pipeline at the first destination')
  await arrived(two, first, 'the first pipeline at the second destination')

  const [dead] = two.tokens
  two.add('another')
  two.remove(String(dead?.id))
  const held = two.spans.length
  const second = generatePipeline(2, 'branch', { firstIds: secondPipelines })
  await send(second)
  await arrived(one, second, 'the second pipeline at the first destination')
  const refusal = await daemon.process.logged('rejects the credentials')
  expect(refusal.destination).toBe('second')
  expect(two.spans).toHaveLength(held)

  const rotate = ['tokens', 'rotate', '--name', 'pipespan', '--target', `file:${fileTwo}`, '--grace', '10m']
  const replaced = await command(...rotate)
  expect(replaced.code, replaced.stderr).toBe(0)
  await arrived(two, second, 'the second pipeline at the second destination')
  const listed = await command('tokens', 'list')
  // The token of the first destination is in use, too, and nothing here shows that its ID belongs to another instance.
  expect(listed.stdout).toMatch(/^102 +another .* yes +unknown$/m)
  expect(listed.stdout).toMatch(/^103 +pipespan .* yes +in use$/m)

  const rotated = await command(...rotate)
  expect(rotated.code, rotated.stdout + rotated.stderr).toBe(0)
  expect(rotated.stdout).toContain('revoked: 103')

  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  const truths = [...first.pipelines, ...second.pipelines]
  expect(differences(truths, one.spans)).toEqual([])
  expect(differences(truths, two.spans)).toEqual([])
  expect(one.tokens).toHaveLength(1)
  expect(one.refusals).toEqual([])
})
