// Tests the CI includes collector, and which pushes make it request the includes again.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { openInventoryWorld, type InventoryWorld } from './world.ts'
import { readInclude } from '../../../src/platform/inventory/includes.ts'
import { touchesCi } from '../../../src/platform/webhook/read-event.ts'

let world: InventoryWorld
beforeEach(async () => {
  world = closeAfterTest(await openInventoryWorld())
})
describe('the includes collector', () => {
  it('reports included components, templates and files of other projects once each, with one request a week', async () => {
    const inventory = world.inventory({ includes: ['brightwater/shop/storefront'] })
    await inventory.turn()
    expect(await world.found()).toEqual({
      'platform.cicd.include component git.example.com/brightwater/components/container-scan 2.3.0': 1,
      'platform.cicd.include project brightwater/ci-templates:/templates/deploy.yml v4': 1,
      'platform.cicd.include template Jobs/SAST.gitlab-ci.yml ': 1,
    })
    expect(world.asked().filter(path => path.endsWith('/ci/lint'))).toHaveLength(1)
    const [state] = await world.store.repositories.inventoryStates.all()
    expect(state?.nextAt).toBe(world.now() + 7 * 24 * 3_600_000)
    await world.pass(inventory, 3_600_000)
    expect(world.asked().filter(path => path.endsWith('/ci/lint'))).toEqual([])
  })

  it('accepts a project without a CI file, and a response with unexpected items', async () => {
    world.answers(/\/ci\/lint$/, {
      valid: false,
      errors: ['none'],
      includes: [null, { type: 7 }, { type: 'template', location: 'A.yml' }],
    })
    await world.inventory({ includes: ['brightwater/shop/storefront'] }).turn()
    expect(await world.found()).toEqual({ 'platform.cicd.include template A.yml ': 1 })
  })

  it.each([
    [
      { type: 'component', location: 'git.example.com/a/b/c@1.2.0' },
      { type: 'component', name: 'git.example.com/a/b/c', version: '1.2.0' },
    ],
    [
      { type: 'component', location: 'git.example.com/a/b@c/d@~latest' },
      { type: 'component', name: 'git.example.com/a/b@c/d', version: '~latest' },
    ],
    [
      { type: 'component', location: 'odd' },
      { type: 'component', name: 'odd', version: '' },
    ],
    [
      { type: 'file', location: '/x.yml', extra: { project: 'a/b', ref: undefined } },
      { type: 'project', name: 'a/b:/x.yml', version: 'HEAD' },
    ],
    [
      { type: 'remote', location: 'https://u:p@host.example.com/x.yml?private_token=abc' },
      { type: 'remote', name: 'https://host.example.com/x.yml', version: '' },
    ],
    [
      { type: 'remote', location: 'https://u:p@$HOST:$PORT/x.yml?private_token=abc#secret' },
      { type: 'remote', name: 'https://$HOST:$PORT/x.yml', version: '' },
    ],
    [
      { type: 'remote', location: '//u:p@host.example.com/x.yml?token=abc' },
      { type: 'remote', name: '//host.example.com/x.yml', version: '' },
    ],
    [
      { type: 'template', location: 'https://host.example.com/x.yml?token=abc' },
      { type: 'template', name: 'https://host.example.com/x.yml', version: '' },
    ],
    [{ type: 'local', location: '/x.yml' }, undefined],
    [{ type: 'later', location: 'x' }, undefined],
    [{ type: 'template' }, undefined],
  ])('decodes the include %j', (wire, read) => {
    expect(readInclude(wire)).toEqual(read)
  })
})

describe('pushes that may change the CI configuration', () => {
  const push = (files: readonly string[], more: object = {}, project: object = {}): boolean =>
    touchesCi({
      ...{ ref: 'refs/heads/main', total_commits_count: 1, commits: [{ added: [], modified: files, removed: [] }] },
      project: { default_branch: 'main', ci_config_path: null, ...project },
      ...more,
    })

  it('requests includes after a push to the default branch that changed the CI file or another YAML file', () => {
    expect(push(['.gitlab-ci.yml'])).toBe(true)
    expect(push(['ci/build.yaml'])).toBe(true)
    expect(push(['ci/pipeline'], {}, { ci_config_path: 'ci/pipeline@group/other' })).toBe(true)
    expect(push(['src/main.ts', 'README.md'])).toBe(false)
    expect(push(['.gitlab-ci.yml'], { ref: 'refs/heads/feature' })).toBe(false)
    expect(push(['.gitlab-ci.yml'], {}, { default_branch: null })).toBe(false)
  })

  it('requests includes after a push with an incomplete list of files', () => {
    expect(push(['README.md'], { total_commits_count: 21 })).toBe(true)
    expect(push([], { commits: undefined })).toBe(true)
    expect(push(['README.md'], { commits: [null] })).toBe(false)
  })
})
