// Tests projects that the configuration hides: no page or response names them, except in titles and messages that people in other projects wrote.
import { countFigures } from '../support/counted-figures.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { namesAny } from '../../src/lib/named-paths.ts'
import { readFileSync } from 'node:fs'
import { answerAddresses, pageAddresses } from '../support/console-parts.ts'
import { openHouse, pipelineWebhook, until, type House } from './house.ts'

const instance = 'https://git.example.com'
const other = 'acme/vault/keys'
/** A hidden project that people in another project mention in titles and commit messages. */
const written = 'acme/cellar/wine'

const pipeline = (
  id: number,
  project: { id: number; path: string },
  { finished_at: end, ...attributes }: { finished_at?: null; status?: string; created_at?: string } = {},
  more: object = {},
): string =>
  pipelineWebhook({
    ...{ id, project, attributes, more, took: end === null ? undefined : 60 },
    jobs: [{ name: 'build', from: 1, to: 50 }],
  })

/** An event about a project, as the platform would send it now. Its title and commit message mention a hidden project. */
function eventOf(kind: string, project: { id: number; path: string }): string {
  const body = JSON.parse(readFileSync(new URL(`../fixtures/events/${kind}.json`, import.meta.url), 'utf8')) as Wire
  const web = `${instance}/${project.path}`
  const now = new Date().toISOString()
  const own = { id: project.id, name: project.path, web_url: web, path_with_namespace: project.path }
  const { object_attributes: attributes } = body
  const times = attributes && { created_at: now, updated_at: now, title: `Take ${written} in` }
  return JSON.stringify({
    ...{ ...body, project: own, name: `Take ${written} in`, commit_title: `Take ${written} in` },
    ...(kind === 'deployment' && { status_changed_at: now, deployment_id: project.id, deployable_id: project.id * 10 }),
    ...(times && { object_attributes: { ...attributes, ...times, target: own, source: own, id: project.id } }),
  })
}
type Wire = Readonly<Record<string, unknown>> & { readonly object_attributes?: object }

const shown = { id: 3, path: 'acme/shop' }
const hidden = { id: 301, path: other }

let house: House
let hiddenLetter: number
beforeAll(async () => {
  house = await openHouse({
    PIPESPAN_PAGES_HIDE: 'Acme/Vault/**,acme/cellar/**',
    SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics,logs',
  })
  const { store } = house.daemon
  const { polledProjects, sweeps, hooks } = store.repositories
  const cursor = { instance, seen: 1, childrenSeen: 1, ranAt: 1, active: [] }
  await polledProjects.put({ ...cursor, project: 301, path: other })
  await polledProjects.put({ ...cursor, project: 3, path: shown.path })
  await sweeps.put({ instance, group: 'acme/vault', startedAt: 1, since: 1, done: true, count: 3 })
  const hook = { instance, state: 'disabled', newest: 1, answers: { 500: 2 } }
  await hooks.put({ ...hook, kind: 'project', id: 17, owner: other })
  await hooks.put({ ...hook, kind: 'group', id: 18, owner: 'acme/vault' })
  await hooks.put({ ...hook, kind: 'project', id: 19, owner: '301' })
  await hooks.put({ ...hook, kind: 'project', id: 20, owner: '3' })
  await house.post('{"object_kind":"pipeline"}')
  const { inventoryStates, gaugeReadings } = store.repositories
  const asked = { instance, failures: 0, nextAt: Date.now() + 3_600_000 }
  const refusal = { message: `The platform does not answer (404 at GET /projects/acme%2Fvault%2Fkeys).`, lasts: true }
  await inventoryStates.put({ ...asked, kind: 'agents', of: other })
  await inventoryStates.put({ ...asked, kind: 'agents', of: '301', owner: { project: hidden } })
  await inventoryStates.put({
    ...asked,
    kind: 'milestones',
    of: other,
    owner: { project: { id: 301, path: 'moved/it' } },
  })
  await inventoryStates.put({ ...asked, kind: 'query', of: 'all of acme', owner: { group: { path: 'acme' } }, refusal })
  await inventoryStates.put({ ...asked, kind: 'query', of: 'shown query', owner: { group: { path: 'acme' } } })
  const point = (name: string) => ({ metric: 'of.acme', attributes: { 'platform.query.project': name }, value: 1 })
  const found = { instance, kind: 'query', profile: 'generic', at: Date.now(), goodFor: 3_600_000, group: 'acme' }
  await gaugeReadings.put({
    ...found,
    of: 'all of acme',
    points: [point(shown.path), point(other), point(`${other}!3`)],
  })
  for (const [kind, event] of [
    ['deployment', 'Deployment Hook'],
    ['change', 'Merge Request Hook'],
    ['release', 'Release Hook'],
  ] as const) {
    for (const project of [shown, hidden]) {
      const body = eventOf(kind, project)
      await house.post(body, event)
    }
  }

  const mention = `See ${written}!3.`
  const request = { iid: 4, title: `Take ${written} in`, source_branch: 'main', target_branch: 'main' }
  const refuse = {
    fault: { kind: 'status', status: 400, message: `too much of ${other} at /projects/acme%2Fvault%2Fkeys` },
  } as const
  // A backend's permanent rejection of data is trusted only once the backend has accepted something.
  await house.post(pipeline(5_000, shown))
  await until(async () => house.receiver.spans.length > 0)
  house.receiver.misbehave({ ...refuse, when: ({ signal }) => signal === 'traces' })
  await house.post(
    pipeline(5_001, shown, {}, { commit: { id: 'a'.repeat(40), message: mention }, merge_request: request }),
  )
  await house.post(pipeline(5_002, hidden))
  await until(async () => (await store.outbox.deadLetters(5)).length === 2)
  hiddenLetter = (await store.outbox.deadLetters(5)).find(({ pipelineId }) => pipelineId === 5_002)?.id ?? 0
  house.receiver.behave()
  for (let id = 5_010; id < 5_020; id += 1)
    await house.post(pipeline(id, hidden, { status: 'running', finished_at: null }))
  await until(async () => (await store.views.countInStatus(['running'])) === 10)
  await house.post(pipeline(5_030, shown, { status: 'running', finished_at: null, created_at: '2026-01-01T00:00:00Z' }))
  await until(async () => (await store.views.countInStatus(['running'])) === 11)
  await countFigures(store)
})
afterAll(async () => house.close())

const read = async (path: string): Promise<string> => (await fetch(house.url + path)).text()

const pages = [
  ...pageAddresses,
  ...['/pipelines/3/5001', '/pipelines/3/5001/compare', '/pipelines/3/5001/jobs/500100', '/exports/1'],
  ...['/pipelines/3/5001/compare?with=5000', '/pipelines/3/5001/compare?with=5002'],
  ...['/trends?project=acme/', '/trends?project=acme/&ref=main', '/trends?project=301', '/cost?project=301'],
  ...['/cost?project=acme/', '/tests?project=acme/', '/environments?project=acme/', '/changes?project=acme/'],
  ...['/timeline?project=301'],
]
const answers = [
  ...answerAddresses,
  ...['/pipelines/3/5001', '/pipelines/3/5001/compare?with=5002', '/pipelines/3/5001/jobs/500100'],
  ...['/trends?group=acme/', '/cost?project=301'],
]

describe('a hidden project', () => {
  it.each([...pages, ...answers.map(path => `/api${path}`), '/metrics'])(
    'does not name a hidden project on %s',
    async path => {
      const text = await read(path)
      expect(text.length).toBeGreaterThan(15)
      expect(text).not.toMatch(/vault/i)
    },
  )

  it('does not change what people in other projects wrote, and hides messages that belong to no project', async () => {
    expect(await read('/pipelines/3/5001')).toContain(`See ${written}!3.`)
    expect(await read('/exports')).toContain('Not shown, because the message may name projects')
    expect(await read('/')).toContain('#20 of project 3')
    expect(await read('/')).not.toMatch(/#1[789] of/)
    expect(await read('/metrics')).toContain('project_path="acme/shop"')
    expect(await read('/metrics')).toContain('of_acme{platform_query_project="acme/shop"')
    expect(await read('/sources')).toContain('shown query')
    expect(await read('/sources')).toContain('Use <code>pipespan inbox list</code>.')
    expect(await read('/api/timeline?span=7d')).toContain('acme/shop')
  })

  it.each(['', '/api'])('has no page for a job of a hidden project under the path prefix "%s"', async api => {
    expect((await fetch(`${house.url}${api}/pipelines/3/5001/jobs/500100`)).status).toBe(200)
    expect((await fetch(`${house.url}${api}/pipelines/301/5002/jobs/500200`)).status).toBe(404)
  })

  it('does not count hidden projects in lists, and shows only rows of other projects', async () => {
    const overview = JSON.parse(await read('/api/overview')) as { active: number; running: { pipelineId: number }[] }
    expect(overview.active).toBe(1)
    expect(overview.running.map(({ pipelineId }) => pipelineId)).toEqual([5_030])
    const { retained } = JSON.parse(await read('/api/cost?span=7d&exact=true')) as { retained: object }
    const sum = { runs: 2, totalMs: 98_000 }
    expect(retained).toMatchObject({ pipelines: 2, total: sum, branches: [{ project: 'acme/shop' }], runners: [sum] })
  })

  it("does not show a hidden project's dead letters, and does not let anyone retry them", async () => {
    expect(hiddenLetter).toBeGreaterThan(0)
    expect((await fetch(`${house.url}/exports/${hiddenLetter}`)).status).toBe(404)
    for (const ids of [[hiddenLetter], 'all']) {
      const headers = { 'content-type': 'application/json' }
      const asked = { method: 'POST', headers, body: JSON.stringify({ ids }) }
      const answer = await fetch(`${house.url}/api/dead-letters/drop`, asked)
      expect(await answer.json()).toEqual({ count: ids === 'all' ? 1 : 0 })
    }
    expect((await house.daemon.store.outbox.deadLetters(5)).map(({ id }) => id)).toEqual([hiddenLetter])
  })
})

describe('a query result that names a hidden project', () => {
  const names = (text: string): boolean => namesAny(text, path => path === other || path.startsWith('secret/'))

  it.each([
    other,
    `group:${other}.`,
    `"${other}@main"`,
    `${other}#12`,
    `https://git.example.com/${other}`,
    `https://git.example.com/${other}/-/jobs/1?x=y`,
    `https://example.com/git/${other}/-/jobs/1`,
    `git@git.example.com:${other}.git`,
    '/api/v4/projects/secret%2Fthing/pipelines',
    '/projects/acme%2fvault%2fkeys/hooks',
  ])('detects the name of a hidden project in the text %s', text => {
    expect(names(text)).toBe(true)
  })

  it.each([
    'acme/vaults',
    'my/acme/vault/keys2',
    'the secret is out',
    'https://secret.example.com/a/b',
    '50 %',
    '%E0%A4%A',
    'a/b/secret/c',
  ])('does not detect the name of a hidden project in the text %s', text => {
    expect(names(text)).toBe(false)
  })
})
