// Tests the audit events page and its JSON: both are shown only if an admin token is set, and without hidden projects.
import { z } from 'zod'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { chromiumPath, expectReadableAt, launch, openContext } from '../../console/browser.ts'
import { auditShape as audit } from '../../../src/features/audit/page.ts'
import { openHouse, until, type House } from '../../console/house.ts'
import { auditCursors } from '../../../src/features/audit/documents.ts'
import { PlatformState } from '../../../src/simulator/platform/state.ts'
import { Random } from '../../../src/simulator/platform/random.ts'
import { RestApi } from '../../../src/simulator/platform/rest-api.ts'
import type { AuditView } from '../../../src/features/audit/page.ts'

const token = 'an-admin-token-of-32-characters-x'
const bearer = { headers: { authorization: `Bearer ${token}` } }
const count = 70
let api: RestApi
let house: House
let ids: number[]

beforeAll(async () => {
  const state = new PlatformState()
  api = await RestApi.start({ state, now: () => Date.now() })
  const random = new Random(9)
  ids = Array.from({ length: count }, (_, n) => state.audit.happen(random, Date.now() - n * 60_000).id)
  const details = { custom_message: '<b>Renamed</b> brightwater/secret/vault', target_details: 'vault' }
  const entity = { type: 'Project', id: 999, path: 'brightwater/secret/vault' } as const
  state.audit.record({
    at: Date.now() - 1_000,
    author: { id: 1, name: 'N', username: 'n', email: 'n@x' },
    entity,
    details,
  })
  house = await openHouse({
    PIPESPAN_ADMIN_TOKEN: token,
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_AUDIT: 'instance',
    PIPESPAN_PAGES_HIDE: 'brightwater/secret/**',
    SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
  })
  await until(async () =>
    (await house.daemon.store.repositories.of(auditCursors).all()).some(({ readAt }) => readAt !== undefined),
  )
})
afterAll(async () => {
  await house.close()
  await api.close()
})

async function json(path: string): Promise<AuditView> {
  return (await (await fetch(`${house.url}/api${path}`, bearer)).json()) as AuditView
}

it('lists audit events in pages, newest first, with the time up to which they were read', async () => {
  z.strictObject(audit.shape).parse(await json('/audit'))
  const seen: unknown[] = []
  let next: string | undefined
  do {
    const view: AuditView = await json(`/audit?limit=30${next === undefined ? '' : `&after=${next}`}`)
    seen.push(...view.events.map(({ attributes }) => Number(attributes['platform.audit.id'])))
    next = view.next
    expect(view.sources).toMatchObject([{ source: 'instance' }])
  } while (next !== undefined)
  expect(seen).toEqual(ids)
  expect(JSON.stringify(await json('/audit?limit=200'))).not.toMatch(/secret\/vault|@/)
})

it('shows the audit events page only with the admin token, and responds with 404 if no token is configured', async () => {
  const page = await fetch(`${house.url}/audit`, bearer)
  const text = await page.text()
  expect(page.status).toBe(200)
  expect(text).toContain('aria-current="page">Audit</a>')
  expect(text).not.toContain('secret/vault')
  expect((await fetch(`${house.url}/audit`, { redirect: 'manual' })).status).toBe(303)
  expect((await fetch(`${house.url}/api/audit`)).status).toBe(401)
  const open = await openHouse({
    PIPESPAN_PLATFORM_URL: api.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_AUDIT: 'instance',
  })
  expect((await fetch(`${open.url}/audit`)).status).toBe(404)
  expect((await fetch(`${open.url}/api/audit`)).status).toBe(404)
  expect(await (await fetch(open.url)).text()).not.toContain('/audit')
  await open.close()
})

it('explains on the page why configured audit events are not read', async () => {
  const { problems } = await json('/audit')
  expect(problems).toEqual([])
  const refusing = await RestApi.start({ state: new PlatformState(), now: () => Date.now() })
  refusing.misbehave = ({ path }) =>
    path.includes('audit_events') ? { status: 403, headers: {}, body: '{"message":"403 Forbidden"}' } : undefined
  const other = await openHouse({
    PIPESPAN_ADMIN_TOKEN: token,
    PIPESPAN_PLATFORM_URL: refusing.url,
    PIPESPAN_PLATFORM_TOKEN: 'pat-1',
    PIPESPAN_AUDIT: 'instance',
    SERVICE_OBSERVABILITY_EXPORT: 'traces,logs',
  })
  const page = async (): Promise<string> => (await fetch(`${other.url}/audit`, bearer)).text()
  await expect.poll(page).toMatch(/notice problem.*the instance.*403/s)
  expect(await page()).not.toContain('Set <code>PIPESPAN_AUDIT</code>')
  await other.close()
  await refusing.close()
})

it.skipIf(chromiumPath === undefined)(
  'shows an accessible audit events page, light and dark, wide and narrow',
  async () => {
    const browser = await launch()
    const page = await (await openContext(browser, { extraHTTPHeaders: bearer.headers })).newPage()
    await expectReadableAt(page, `${house.url}/audit`, page.getByText('Newest first'))
    await browser.close()
  },
)
