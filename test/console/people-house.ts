// Starts a daemon behind a proxy that logs people in, for tests of what they may see and do. It has two dead letters: one in a project that everybody
// may see, and one in a project that some people may not see.
import { openHouse, pipelineWebhook, until, type House } from './house.ts'

export const token = 'an-admin-token-that-nobody-guesses'
/** The header in which the proxy names the person. */
export const header = 'x-auth-request-email'
export const [operator, viewer, shopViewer, shopOperator] = [
  'ops@acme.example',
  'all@acme.example',
  'shop@acme.example',
  'lead@shop.example',
]

/** Returns the configuration of the people. `hosts` may be an additional line. */
export const peopleOf = (hosts = ''): string => `
admin:
  trusted_header: X-Auth-Request-Email
  trusted_proxies: [127.0.0.0/8, '::1']
  ${hosts}
  people:
    - { who: ['ops@acme.example'], role: operator }
    - { who: ['shop@*'], role: viewer, projects: { include: ['brightwater/shop/**'] } }
    - { who: ['*@shop.example'], role: operator, projects: { include: ['brightwater/shop/**'] } }
    - { who: ['all@*'], role: viewer }
`

export interface PeopleHouse extends House {
  /** Sends a request as this person. */
  ask(who: string, address: string, init?: RequestInit): Promise<Response>
  text(who: string, address: string): Promise<string>
}

export async function openPeopleHouse(): Promise<PeopleHouse> {
  const env = { PIPESPAN_ADMIN_TOKEN: token, SERVICE_OBSERVABILITY_EXPORT: 'traces,logs' }
  const house = await openHouse(env, peopleOf())
  await house.live(['mergeRequest', 'nightly', 'family', 'flakyRunner'])
  const refuse = { fault: { kind: 'status', status: 400, message: 'too much of brightwater/data/warehouse' } } as const
  house.receiver.misbehave({ ...refuse, when: ({ signal }) => signal === 'traces' })
  for (const [id, projectId, path] of [
    [901, 71, 'brightwater/shop/storefront'],
    [902, 72, 'brightwater/data/warehouse'],
  ] as const)
    await house.post(pipelineWebhook({ id, begun: Date.now() - 600_000, project: { id: projectId, path } }))
  await until(async () => (await house.daemon.store.outbox.deadLetters(5)).length === 2)
  house.receiver.behave()
  const ask: PeopleHouse['ask'] = async (who, address, init = {}) =>
    fetch(house.url + address, { redirect: 'manual', ...init, headers: { [header]: who, ...(init.headers as object) } })
  return { ...house, ask, text: async (who, address) => (await ask(who, address)).text() }
}
