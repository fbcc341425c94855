// Tests that the page of dead letters says if it leaves out some, also to people who see only some projects.
import { closeAfterTest } from '../support/after-test.ts'
import { expect, it } from 'vitest'
import { openPeopleHouse, operator, shopOperator } from './people-house.ts'
import { pipelineWebhook, until } from './house.ts'

it('says to each person that only the newest 100 dead letters are listed', async () => {
  const house = closeAfterTest(await openPeopleHouse())
  const { outbox } = house.daemon.store
  const said = async (who: string): Promise<string | undefined> =>
    /Shown: [^<]*/.exec((await house.text(who, '/exports')).replace(/\s+/g, ' '))?.[0]
  expect([await said(operator), await said(shopOperator)]).toEqual([undefined, undefined])
  const refused = { kind: 'status', status: 400, message: 'no' } as const
  house.receiver.misbehave({ fault: refused, when: ({ signal }) => signal === 'traces' })
  const project = { id: 71, path: 'brightwater/shop/storefront' }
  await Promise.all(
    Array.from({ length: 100 }, async (_, n) => house.post(pipelineWebhook({ id: 1_000 + n, project }))),
  )
  await until(async () => (await outbox.deadLetters(200)).length === 102)
  expect(await said(operator)).toBe('Shown: 100 of 102 dead letters, the newest of projects that are not hidden.')
  expect(await said(shopOperator)).toBe('Shown: the newest 100.')
})
