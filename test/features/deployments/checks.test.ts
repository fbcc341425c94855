// Tests the doctor's check of the sources that report deployments, changes and incidents.
import { expect, it } from 'vitest'
import { changeReporter } from '../../../src/features/deployments/sql/changes.ts'
import { checkEvents } from '../../../src/features/deployments/checks.ts'
import { deploymentReporter } from '../../../src/features/deployments/sql/deployments.ts'
import { event, hour, instance, openWorld, second, t0 } from '../../flow/world.ts'
import { incidentCursors } from '../../../src/features/deployments/incident-poller.ts'
import { observedChange } from '../../../src/features/deployments/model/change.ts'
import { observedEvent } from '../../../src/features/deployments/model/deployment.ts'
import { report, spanOf } from './reported.ts'

const of = { instance, project: { id: 301, path: 'acme/shop' } }

it('reports deployments, changes and incidents that are selected but not sent by any webhook', async () => {
  const world = openWorld()
  const { store } = world
  const check = async (...events: string[]): Promise<string[]> => {
    const found = await checkEvents({ config: { events }, client: { instance }, store })
    return found.map(({ level, what, remedy = '' }) => `${level}: ${what} ${remedy}`.trim())
  }
  const all = async (): Promise<string[]> => check('deployment', 'change', 'issue')
  expect(await check()).toEqual([
    'skipped: Deployments are not watched (`deployment` is not in PIPESPAN_EVENTS).',
    'skipped: Changes (merge requests) are not watched (`change` is not in PIPESPAN_EVENTS).',
    'skipped: Incidents are not watched (`issue` is not in PIPESPAN_EVENTS).',
  ])
  const [deploymentRemedy, changeRemedy, issueRemedy] = ['deployment', 'merge request', 'issues'].map(
    kind => `Enable ${kind} events in the webhooks: \`pipespan hooks ensure\` does this.`,
  )
  expect(await all()).toEqual([
    `skipped: Deployments: none was reported in the last 30 days. ${deploymentRemedy}`,
    `skipped: Changes (merge requests): none was reported in the last 30 days. ${changeRemedy}`,
    `skipped: Incidents: none was opened in the last 30 days, and the platform's list of them was not read yet. ${issueRemedy}`,
  ])
  const job = { status: 'success', environment: 'production', finishedAt: t0, span: spanOf(5) }
  const deployment = { ...of, jobId: 5, job }
  await report(store, deploymentReporter, [deployment])
  await world.observe(event('success', { finishedAt: t0 }, [], { mergeRequest: { iid: 3 } }))
  await world.pass(10 * second)
  await store.repositories.of(incidentCursors).put({ instance, at: t0 })
  expect(await all()).toEqual([
    `warning: Deployments: the last 30 days had deployed jobs, but no webhook reported one. ${deploymentRemedy}`,
    `warning: Changes (merge requests): the last 30 days had pipelines of merge requests, but no webhook reported one. ${changeRemedy}`,
    "fine: Incidents: none was opened in the last 30 days; the platform's list of them is read.",
  ])
  const byEvent = observedEvent({ status: 'success', at: t0, environment: 'production' })
  const change = { ...of, iid: 3, event: observedChange({ state: 'open' }, t0), createdAt: t0 }
  await report(store, deploymentReporter, [{ ...deployment, event: byEvent }])
  await report(store, changeReporter, [change])
  await world.pass(3 * hour)
  expect((await all()).slice(0, 2)).toEqual([
    'fine: Deployments are reported by webhooks, most recently 3 h ago.',
    'fine: Changes (merge requests) are reported by webhooks, most recently 3 h ago.',
  ])
})

it('knows that incidents are polled with a token that is limited to groups', async () => {
  const { store } = openWorld()
  await store.repositories.of(incidentCursors).put({ instance: `${instance} (groups 0a1b2c3d)`, at: t0 })
  const found = async (of: string) =>
    (await checkEvents({ config: { events: ['issue'] }, client: { instance: of }, store })).at(-1)?.level
  expect(await found(instance)).toBe('fine')
  expect(await found('https://git.example.net')).toBe('skipped')
})
