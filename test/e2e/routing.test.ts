// Tests several destinations that each take some of the projects: which data each one gets, which data none gets, and what happens to pending data
// when destinations change.
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Daemon } from './daemon.ts'
import { type OtlpReceiver, pipelinesAt, startReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'

/** Returns the event of a finished pipeline in this project. */
function ofProject(id: number, projectPath: string, projectId: number): string {
  const event = JSON.parse(pipelineEvent({ id })) as { project: object }
  return JSON.stringify({ ...event, project: { ...event.project, id: projectId, path_with_namespace: projectPath } })
}

/** True once the backend has rejected a trace. Earlier rejections may have been of metrics only. */
const refusedTrace = (_: unknown, { requests }: OtlpReceiver): boolean =>
  requests.some(({ signal, status }) => signal === 'traces' && status === 503)

it('sends each project to the destinations that take it, and reports projects that no destination takes', async () => {
  const [payments, rest] = [await startReceiver(), await startReceiver()]
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  const destinations = (others: string): string => `
observability: { export: [traces, metrics, logs] }
metrics: { interval: 200ms }
destinations:
  - { name: payments, endpoint: '${payments.url}', projects: { include: ['payments/**'] } }
${others}`
  const restOf = (url: string): string =>
    `  - { name: rest, endpoint: '${url}', projects: { exclude: ['payments/**', 'secret/**'] } }`
  writeFileSync(file, destinations(restOf(rest.url)))
  const unset = { OTEL_EXPORTER_OTLP_ENDPOINT: undefined, SERVICE_OBSERVABILITY_EXPORT: undefined }
  const daemon = await Daemon.start({ ...unset, PIPESPAN_CONFIG: file })
  const post = async (id: number, project: string, projectId: number): Promise<void> =>
    expect((await daemon.post(ofProject(id, project, projectId))).status).toBe(202)
  await post(1, 'payments/api', 1)
  await post(2, 'web/shop', 2)
  await post(3, 'secret/keys', 3)
  await payments.until(() => pipelinesAt(payments).includes(1))
  await rest.until(() => pipelinesAt(rest).includes(2))
  await daemon.process.logged('no destination is configured for this project')
  await post(4, 'payments/api', 1)
  await payments.until(() => pipelinesAt(payments).includes(4))
  expect([pipelinesAt(payments), pipelinesAt(rest)]).toEqual([[1, 4], [2]])
  const groupsIn = ({ metrics }: OtlpReceiver): unknown[] => [
    ...new Set(metrics.map(one => one.resource.attributes['service.namespace'])),
  ]
  await payments.until(() => groupsIn(payments).length > 0)
  await rest.until(() => groupsIn(rest).length > 0)
  expect([groupsIn(payments), groupsIn(rest)]).toEqual([['payments'], ['web']])
  const metrics = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
  expect(metrics).toMatch(/^pipespan_runs_settled_total{kind="unrouted"} 1$/m)
  for (const [project, code, text] of [
    ['payments/api', 0, /✓ routes: payments\/api is exported to "payments": /],
    ['secret/keys', 1, /! routes: No destination is configured for secret\/keys/],
  ] as const) {
    const { stdout, code: exit } = await daemon.command('doctor', '--project', project)
    expect([exit, stdout]).toEqual([code, expect.stringMatching(text)])
  }
  // Data that was pending for a removed destination stays in the store. While the destination is missing, the page shows that new data is not
  // exported.
  rest.misbehave({ fault: { kind: 'status', status: 503, message: 'backend is down' } })
  await post(5, 'web/shop', 2)
  await rest.until(refusedTrace)
  await daemon.stop()
  writeFileSync(file, destinations(''))
  await daemon.restart()
  const unserved = /pipespan_export_circuit_breaker_state{destination="rest",signal="traces",state="unserved"} 1/
  await expect.poll(async () => (await fetch(`${daemon.adminUrl}/metrics`)).text()).toMatch(unserved)
  await post(6, 'web/shop', 2)
  await daemon.process.logged('no destination is configured for this project')
  expect(await (await fetch(`${daemon.adminUrl}/exports`)).text()).toContain(
    '1 snapshot since the start was not exported',
  )
  await daemon.stop()
  rest.behave()
  writeFileSync(file, destinations(restOf(rest.url)))
  await daemon.restart()
  await rest.until(() => pipelinesAt(rest).includes(5))
  expect(pipelinesAt(rest)).toEqual([2, 5])
})

it('sends each tenant of one backend only its own projects, selected by headers', async () => {
  const backend = await startReceiver()
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(
    file,
    `
observability: { export: [traces, metrics, logs] }
metrics: { interval: 200ms }
attributes:
  rules:
    - { projects: { include: ['payments/**'] }, set: { team: money & more } }
    - { projects: { include: ['web/**'] }, set: { team: shop } }
destinations:
  - name: tenants
    endpoint: ${backend.url}
    headers: { X-Scope-OrgID: '{group}', X-Team: 'team-{own.team}', X-Project: 'p{project.id}' }
`,
  )
  const unset = { OTEL_EXPORTER_OTLP_ENDPOINT: undefined, SERVICE_OBSERVABILITY_EXPORT: undefined }
  const daemon = await Daemon.start({ ...unset, PIPESPAN_CONFIG: file })
  // Everything becomes pending at the same time, so that one lease contains the entries of all tenants.
  backend.misbehave({ fault: { kind: 'status', status: 503, message: 'backend is down' } })
  const projects = ['payments/api', 'web/shop', 'payments/api', 'web/cart', 'other/tool', 'web/shop']
  for (const [index, project] of projects.entries()) {
    const projectId = projects.indexOf(project) + 1
    const headers = { 'x-service-event': 'Pipeline Hook' }
    expect((await daemon.post(ofProject(index + 1, project, projectId), headers)).status).toBe(202)
  }
  await daemon.process.logged('no destination is configured for this project')
  backend.behave()
  await backend.until(() => pipelinesAt(backend).length === 5)
  await backend.until(() => new Set(backend.logs.map(one => one.resource.attributes['vcs.owner.name'])).size === 2)
  await backend.until(
    () => new Set(backend.metrics.map(one => one.resource.attributes['service.instance.id'])).size === 3,
  )
  const kept = backend.requests.filter(
    ({ kept, spans, metrics, logs }) => kept && [...spans, ...metrics, ...logs].length > 0,
  )
  expect(new Set(kept.map(({ signal }) => signal))).toEqual(new Set(['traces', 'metrics', 'logs']))
  for (const { headers, spans, metrics, logs } of kept) {
    const own = new Set(
      [...spans, ...metrics, ...logs].map(({ resource: { attributes } }) => attributes['vcs.owner.name']),
    )
    expect([...own]).toEqual([headers['x-scope-orgid']])
  }
  expect(
    new Set(kept.map(({ headers }) => `${headers['x-team'] as string} ${headers['x-project'] as string}`)),
  ).toEqual(new Set(['team-money%20%26%20more p1', 'team-shop p2', 'team-shop p4']))
  const { stdout } = await daemon.command('doctor', '--project', 'web/shop')
  expect(stdout).toContain('{group} = web, {own.team} = shop, {project.id} = its ID in its headers')
  expect((await daemon.command('doctor', '--project', 'other/tool')).stdout).toContain(
    'No destination is configured for other/tool',
  )
  expect((await daemon.command('doctor')).stdout).toContain('has headers that depend on the project')
})
