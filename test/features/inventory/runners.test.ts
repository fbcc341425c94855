// Tests the collectors of runners, repositories and refs against the simulated platform's REST API.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { openInventoryWorld, type InventoryWorld } from './world.ts'
import { restJson } from '../../support/rest-faults.ts'

const group = 'brightwater'
const shop = 'brightwater/shop/storefront'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
})

const runner = (id: number, more: object = {}) => ({
  id,
  description: `r${id}`,
  status: 'online',
  paused: false,
  ...more,
})

describe('the runners collector', () => {
  it("counts a group's runners by state, and reports the version, tags and last contact of each", async () => {
    await world.inventory({ runners: [group] }).turn()
    expect(await world.found()).toEqual({
      'cicd.worker.count available group_type': 1,
      'cicd.worker.count busy group_type': 1,
      'cicd.worker.count offline group_type': 2,
      'platform.cicd.worker.info 31 linux-1 busy group_type 18.7.0 docker,linux': 1,
      'platform.cicd.worker.info 32 linux-2 available group_type 18.7.0 docker,linux': 1,
      'platform.cicd.worker.info 33 gpu-1 offline group_type 18.7.0 docker,gpu': 1,
      'platform.cicd.worker.info 34 macos-1 offline group_type 18.7.0 docker,macos': 1,
      ...Object.fromEntries(
        [31, 32, 33, 34].map((id, index) => [
          `platform.cicd.worker.paused ${id} ${['linux-1', 'linux-2', 'gpu-1', 'macos-1'][index]}`,
          id === 33 ? 1 : 0,
        ]),
      ),
      'platform.cicd.worker.last_contact 31 linux-1': { since: world.now() - 20_000 },
      'platform.cicd.worker.last_contact 32 linux-2': { since: world.now() - 20_000 },
      'platform.cicd.worker.last_contact 33 gpu-1': { since: world.now() - 20_000 },
      'platform.cicd.worker.last_contact 34 macos-1': { since: world.now() - 5 * 3_600_000 },
    })
    // The requests are a lookup as a project, a lookup as a group, the list of runners, and one per runner.
    expect(world.asked()).toHaveLength(2 + 1 + 4)
  })

  it('reads all runners of the instance for `*`, without looking up a project or group', async () => {
    await world.inventory({ runners: ['*'] }).turn()
    expect(world.asked()[0]).toMatch(/\/runners\/all$/)
    expect(await world.found()).toMatchObject({ 'cicd.worker.count offline group_type': 2 })
    const [reading] = await world.store.repositories.gaugeReadings.all()
    expect([reading?.project, reading?.group]).toEqual([undefined, undefined])
  })

  it("requests a runner's running jobs if the platform does not report whether it is busy", async () => {
    world.api.misbehave = ({ path }) => {
      if (path.endsWith('/projects/101/runners') || /\/projects\/\d+\/runners$/.test(path))
        return restJson([runner(1), runner(2), runner(3, { status: 'stale' }), runner(4, { paused: true })])
      const [, id, part] = /\/runners\/(\d+)(\/jobs)?$/.exec(path) ?? []
      if (id === undefined) return undefined
      return part === undefined
        ? restJson(runner(Number(id), id === '3' ? { status: 'stale' } : {}))
        : restJson(id === '1' ? [{ id: 9 }] : [])
    }
    await world.inventory({ runners: [shop] }).turn()
    expect(await world.found()).toMatchObject({
      'cicd.worker.count available': 2,
      'cicd.worker.count busy': 1,
      'cicd.worker.count offline': 1,
    })
  })

  it('counts runners even if the token may not see their details', async () => {
    world.answers(/\/runners\/\d+/, { message: '403 Forbidden' }, 403)
    await world.inventory({ runners: [group] }).turn()
    expect(await world.found()).toMatchObject({
      'cicd.worker.count available group_type': 1,
      'cicd.worker.count busy group_type': 1,
      'cicd.worker.count offline group_type': 2,
      'platform.cicd.worker.info 31 linux-1 busy group_type': 1,
    })
  })
})

describe('the collectors of repositories and refs', () => {
  it('counts the repositories of a group', async () => {
    await world.inventory({ repositories: [group] }).turn()
    const found = await world.found()
    expect(found['vcs.repository.count']).toBeGreaterThan(1)
  })

  it('counts the branches and tags of a project', async () => {
    await world.inventory({ refs: [shop] }).turn()
    expect(await world.found()).toEqual({ 'vcs.ref.count branch': 3, 'vcs.ref.count tag': 2 })
  })
})
