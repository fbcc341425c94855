// The overview's counts say what they count, and none speaks against another.
import { expect, it, onTestFinished } from 'vitest'
import { openHouse, until } from './house.ts'

it('says that all is refused where all is, and that nothing waits beside what is kept', async () => {
  const house = await openHouse()
  onTestFinished(async () => house.close())
  const post = async (token: string, event: string, body: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-service-event': event, 'x-service-token': token }
    return (await fetch(`${house.daemon.url}/webhooks`, { method: 'POST', body, headers })).status
  }
  const overview = async (): Promise<string> => {
    const page = await (await fetch(house.url)).text()
    return page.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  }
  expect(await overview()).toMatch(/Received 0 since the start: none yet/)
  expect(await post('wrong', 'Pipeline Hook', '{}')).toBe(401)
  const refused = await overview()
  expect(refused).toMatch(/Received 1 .*1 refused Inbox/)
  expect(refused).toMatch(/Webhooks last accepted never refuses all 0 accepted/)
  expect(await post('a-webhook-token', 'Push Hook', '{"object_kind":"push"}')).toBe(200)
  expect(await post('a-webhook-token', 'Pipeline Hook', '{"object_kind":"pipeline"}')).toBe(202)
  await until(async () => (await house.daemon.store.inbox.state()).quarantined === 1)
  const later = await overview()
  expect(later).toMatch(/Received 3 since the start, last accepted just now 1 not of pipelines 1 refused Inbox/)
  expect(later).toMatch(/Inbox 0 nothing waits 1 quarantined/)
  expect(later).toMatch(/Webhooks last accepted just now receiving 1 accepted/)
  expect(later).toMatch(/Backend 0 exports delivered since the start/)
})
