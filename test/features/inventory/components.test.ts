// Tests the components page: which versions projects use, which projects are behind, and how versions are ordered.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { openHouse, type House } from '../../console/house.ts'
import { newestOf, type Components } from '../../../src/features/inventory/component-figures.ts'

let house: House
beforeAll(async () => {
  house = await openHouse({ PIPESPAN_PAGES_HIDE: 'secret/**' })
  const { gaugeReadings } = house.daemon.store.repositories
  const use = (type: string, name: string, version: string) => ({
    ...{ metric: 'platform.cicd.include', value: 1 },
    attributes: {
      'platform.cicd.include.type': type,
      'platform.cicd.include.name': name,
      'platform.cicd.include.version': version,
    },
  })
  for (const [id, path, ...points] of [
    [1, 'pay/api', use('component', 'git.example.com/ci/scan', '1.2.0'), use('template', 'Jobs/SAST.yml', '')],
    [2, 'pay/web', use('component', 'git.example.com/ci/scan', '2.0.1')],
    [3, 'shop/app', use('component', 'git.example.com/ci/scan', '2'), use('project', 'secret/templates:/x.yml', 'v1')],
    [4, 'secret/keys', use('component', 'git.example.com/ci/scan', '3.0.0')],
  ] as const) {
    const reading = {
      instance: 'https://git.example.com',
      kind: 'includes',
      of: path,
      profile: 'generic',
      at: Date.now(),
    }
    await gaugeReadings.put({ ...reading, goodFor: 1e12, project: { id, path }, points: [...points] })
  }
})
afterAll(async () => house.close())

const components = async (query = ''): Promise<Components> =>
  (await fetch(`${house.url}/api/components${query}`)).json() as Promise<Components>

it('shows which component versions are in use, and which projects use an older version than the newest', async () => {
  const { components: found, projects } = await components()
  expect(projects).toBe(3)
  expect(found[0]).toMatchObject({ name: 'git.example.com/ci/scan', newest: '2.0.1', behind: ['pay/api'] })
  expect(found[0]?.versions.map(({ version, projects: of }) => [version, of])).toEqual([
    ['1.2.0', ['pay/api']],
    ['2', ['shop/app']],
    ['2.0.1', ['pay/web']],
  ])
  const page = await (await fetch(`${house.url}/components`)).text()
  expect(page).toContain('<strong>3 projects</strong>')
  expect(page).not.toContain('secret/')
})

it('shows the components of one group of projects', async () => {
  const { components: found, projects } = await components('?project=pay/')
  expect([projects, found.map(({ name }) => name).sort()]).toEqual([2, ['Jobs/SAST.yml', 'git.example.com/ci/scan']])
})

describe('order of component versions', () => {
  it.each([
    [['1.0.0', '1.10.0', '1.9.9'], '1.10.0', ['1.0.0', '1.9.9']],
    [['v1.2', '1.2.3', 'v2'], 'v2', ['v1.2', '1.2.3']],
    [['1', '1.4.0'], '1.4.0', []],
    [['1.0.0-rc.1', '1.0.0'], '1.0.0', ['1.0.0-rc.1']],
    [['main', '~latest', 'a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0', ''], undefined, []],
    [['main', '1.0.0'], '1.0.0', []],
  ])('among the component versions %j, finds the newest: %s', (versions, newest, lower) => {
    const order = newestOf(versions)
    expect([order.newest, versions.filter(order.isLower)]).toEqual([newest, lower])
  })

  it('orders every other component version below the newest, and never the newest version below itself', () => {
    const version = fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)).map(parts => parts.join('.'))
    fc.assert(
      fc.property(fc.array(version, { minLength: 1, maxLength: 6 }), versions => {
        const { newest = '', isLower } = newestOf(versions)
        expect(isLower(newest)).toBe(false)
        expect(versions.filter(one => !isLower(one)).every(one => one === newest)).toBe(true)
      }),
    )
  })
})
