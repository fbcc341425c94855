// Tests what people behind a proxy may see and do, depending on their projects and their role, and how their actions are recorded.
import { countFigures } from '../support/counted-figures.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manyRuns } from '../core/store/many-runs.ts'
import { answerAddresses, pageAddresses, allPages } from '../support/console-parts.ts'
import { openPeopleHouse, operator, shopOperator, shopViewer, viewer, type PeopleHouse } from './people-house.ts'
import { until } from './house.ts'

let house: PeopleHouse
let letters: readonly { readonly id: number; readonly pipelineId?: number | undefined }[]
beforeAll(async () => {
  house = await openPeopleHouse()
  letters = await house.daemon.store.outbox.deadLetters(5)
})
afterAll(async () => house.close())

async function json<T>(who: string, address: string): Promise<T> {
  const answer = await house.ask(who, `/api${address}`)
  const body = await answer.text()
  if (!answer.ok) throw new Error(`The response to ${address} was ${answer.status}: ${body.slice(0, 300)}`)
  return JSON.parse(body) as T
}
const letterOf = (pipelineId: number): number => letters.find(one => one.pipelineId === pipelineId)?.id ?? 0

async function act(who: string, address: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return house.ask(who, address, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function post(who: string, form: Record<string, string>): Promise<Response> {
  return house.ask(who, '/exports/do', { method: 'POST', body: new URLSearchParams(form) })
}

describe('a person who may see only some projects', () => {
  const others = /brightwater\/(?!shop\b)\w|warehouse/
  it.each([...pageAddresses, ...answerAddresses.map(one => `/api${one}`)].filter(one => !one.endsWith('/audit')))(
    'shows a person nothing about projects that they may not see on %s',
    async address => {
      const answer = await house.ask(shopViewer, address)
      expect(answer.status).toBe(200)
      expect(await answer.text()).not.toMatch(others)
      expect(await house.text(viewer, '/api/pipelines?limit=200')).toMatch(others)
    },
  )

  it('shows neither the state of destinations nor backend errors to a person who may see only some projects', async () => {
    for (const address of ['/', '/exports', '/tokens']) {
      const page = await house.text(shopViewer, address)
      expect(page).toContain('Only people who may see all projects see the state of destinations.')
      expect(page).not.toContain('too much of')
    }
    expect(await json<object>(shopViewer, '/exports')).toMatchObject({ queues: [] })
    expect(await house.text(viewer, '/exports')).toContain('too much of brightwater/data/warehouse')
  })

  it('does not let a person open a pipeline of a project that they may not see, under any URL', async () => {
    expect((await house.ask(shopViewer, '/pipelines/71/901')).status).toBe(200)
    for (const address of ['/pipelines/72/902', '/api/pipelines/72/902', `/exports/${letterOf(902)}`]) {
      expect((await house.ask(shopViewer, address)).status, address).toBe(404)
    }
    expect((await house.ask(shopViewer, '/metrics')).status).toBe(403)
    expect((await house.ask(viewer, '/metrics')).status).toBe(200)
  })

  it('lists the pipelines that a person may see among many newer ones of other projects, without a cursor that reveals the newer ones', async () => {
    interface List {
      pipelines: { project: string }[]
      next?: unknown
      total?: number
    }
    const own = await json<List>(shopViewer, '/pipelines?limit=200')
    await manyRuns({ store: house.daemon.store, runs: 700, until: Date.now() + 60_000, every: 10 })
    await countFigures(house.daemon.store)
    const { pipelines, next, total } = await json<List>(shopViewer, '/pipelines?limit=200')
    expect([pipelines.length, next, total]).toEqual([own.pipelines.length, undefined, own.total])
    expect(pipelines.length).toBeGreaterThan(3)
    expect(await house.text(shopViewer, '/pipelines')).toContain('brightwater/shop/storefront')
    for (const filter of [
      'project=acme/shop/api',
      'project=acme/',
      'ref=release/24.6',
      'text=amina',
      'job=unit&project=acme/',
    ])
      expect([filter, await json<List>(shopViewer, `/pipelines?limit=1&${filter}`)]).toEqual([
        filter,
        expect.not.objectContaining({
          next: expect.anything() as unknown,
          searchedBackTo: expect.anything() as unknown,
        }),
      ])
    expect((await json<List>(viewer, '/pipelines?limit=1&project=acme/shop/api')).next).toBeDefined()
  })
})

describe('a person with the viewer role', () => {
  it('shows a viewer no buttons or forms for actions on any page', async () => {
    const letter = String(letterOf(901))
    for (const { path } of allPages) {
      const address = path
        .replace(/:pipelineId/, '901')
        .replace(/:projectId/, '71')
        .replace(/:id/, letter)
        .replace(/:\w+/g, '1')
      for (const query of ['', '?do=drop&which=all', `?do=retry&which=${letter}`, '?environment=production']) {
        const body = await house.text(viewer, address + query)
        expect([address, query, /method="post"|exports\/confirm/i.exec(body)?.[0]]).toEqual([address, query, undefined])
      }
    }
    expect(await house.text(operator, '/exports')).toContain('Send all again')
  })

  it('responds with 403 to a viewer who tries an action, without a confirmation page', async () => {
    for (const query of ['do=drop&which=all', 'do=retry&which=all', `do=drop&which=${letterOf(901)}`, 'do=burn']) {
      const answer = await house.ask(viewer, `/exports/confirm?${query}`)
      expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('Your role does not allow')])
    }
    for (const path of ['dead-letters/drop', 'dead-letters/retry', 'exports/try'])
      expect((await act(viewer, `/api/${path}`, { ids: 'all' })).status).toBe(403)
    for (const action of ['drop', 'retry', 'now'])
      expect((await post(viewer, { do: action, which: 'all' })).status).toBe(403)
    expect(await house.daemon.store.outbox.deadLetters(5)).toHaveLength(2)
  })
})

describe('a person with the operator role', () => {
  it('lets an operator confirm only actions on projects that they may see', async () => {
    const confirm = async (who: string, which: string | number): Promise<number> =>
      (await house.ask(who, `/exports/confirm?do=drop&which=${which}`)).status
    for (const [who, which, status] of [
      [operator, letterOf(902), 200],
      [shopOperator, letterOf(901), 200],
      [shopOperator, 'all', 200],
      [shopOperator, letterOf(902), 404],
      [operator, 999_999, 404],
    ] as const)
      expect([who, which, await confirm(who, which)]).toEqual([who, which, status])
    expect((await post(shopOperator, { do: 'now' })).status).toBe(403)
  })

  it('lets an operator who may see only some projects act on those projects, but not on all projects at once', async () => {
    expect((await act(shopOperator, '/api/exports/try', {})).status).toBe(403)
    expect(await (await act(shopOperator, '/api/dead-letters/drop', { ids: [letterOf(902)] })).json()).toEqual({
      count: 0,
    })
    expect(await (await act(shopOperator, '/api/dead-letters/drop', { ids: 'all' })).json()).toEqual({ count: 1 })
    expect((await house.daemon.store.outbox.deadLetters(5)).map(({ pipelineId }) => pipelineId)).toEqual([902])
  })

  it('exports an event for each operator action', async () => {
    expect(await (await act(operator, '/api/dead-letters/retry', { ids: 'all' })).json()).toEqual({ count: 1 })
    const actions = (): object[] =>
      house.receiver.logs
        .filter(one => one.eventName === 'pipespan.operator.action')
        .map(({ attributes }) => attributes)
    await until(async () => actions().length === 3)
    expect(actions()).toEqual([
      expect.objectContaining({
        'user.name': shopOperator,
        'pipespan.operator.action': 'drop',
        'pipespan.operator.count': 0,
      }),
      expect.objectContaining({
        'user.name': shopOperator,
        'pipespan.operator.target': 'all',
        'pipespan.operator.count': 1,
      }),
      expect.objectContaining({
        ...{ 'user.name': operator, 'pipespan.operator.role': 'operator', 'pipespan.operator.action': 'retry' },
        ...{ 'pipespan.operator.target': 'all', 'pipespan.operator.count': 1 },
      }),
    ])
  })
})
