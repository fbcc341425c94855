// Tests a complete daemon with a platform that fails: the overview shows the problem for as long as it lasts.
import { hooksOf } from '../support/rest-hooks.ts'
import { beforeEach, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { openHouse, type House } from './house.ts'
import { PlatformState } from '../../src/simulator/platform/state.ts'
import { RestApi } from '../../src/simulator/platform/rest-api.ts'
import { restFaults } from '../support/rest-faults.ts'

const publicUrl = 'https://pipespan.example.com'
let platform: RestApi
let house: House

beforeEach(async () => {
  platform = closeAfterTest(await RestApi.start({ state: new PlatformState(), now: () => Date.now() }))
  hooksOf(platform).hooks.push({ id: 17, url: `${publicUrl}/webhooks`, owner: { project: 301 } })
})
async function open(): Promise<void> {
  house = closeAfterTest(
    await openHouse({
      PIPESPAN_PLATFORM_URL: platform.url,
      PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
      PIPESPAN_POLL_PROJECTS: '301',
      PIPESPAN_POLL_INTERVAL: '1s',
      PIPESPAN_PUBLIC_URL: publicUrl,
      PIPESPAN_REDELIVERY: 'true',
    }),
  )
}

const overview = async (): Promise<string> => (await fetch(`${house.url}/`)).text()

it('shows the platform as connected only once it has responded, and not while it is failing', async () => {
  const badge = async (): Promise<string> =>
    ((await overview()).split('<strong>Platform API</strong>')[1] ?? '').replace(/<[^>]+>/g, ' ').slice(0, 200)
  platform.misbehave = () => restFaults.wrongToken()
  await open()
  expect(await badge()).not.toContain('connected')
  await expect.poll(badge).toContain('failing')
  expect(await overview()).toContain('The platform does not accept the token')
  platform.misbehave = () => undefined
  await expect.poll(badge).toContain('connected')
  expect(await overview()).not.toContain('The platform does not accept the token')
})

it('shows on the overview that the platform has disabled the hook', async () => {
  const hook = {
    id: 17,
    url: `${publicUrl}/webhooks`,
    pipeline_events: true,
    job_events: true,
    alert_status: 'disabled',
  }
  const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify([hook]) }
  platform.misbehave = ({ path }) => (path.endsWith('/hooks') ? answer : undefined)
  await open()
  const words = 'The platform has switched off a hook, and sends nothing: #17 of project 301.'
  await expect.poll(overview).toContain(words)
})
