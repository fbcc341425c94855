// Tests a configuration with several platforms, in which each token gets its own view of the configuration.
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/after-test.ts'
import { loadConfig } from '../../../src/daemon/configuration/load.ts'
import { writeFileSync } from 'node:fs'
import { isOfView, platformViews, type PlatformView } from '../../../src/daemon/configuration/platforms.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { reloadConfig } from '../../../src/daemon/configuration/reload.ts'
import { features } from '../../../src/features.ts'
import path from 'node:path'

function load(yaml: string, env: Record<string, string> = {}) {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, yaml)
  const options = { env, file, profiles, features }
  const loaded = loadConfig(options)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults))
  return { loaded, reload: (next: string) => (writeFileSync(file, next), reloadConfig(loaded, options)) }
}

function viewsOf(yaml: string, env: Record<string, string> = {}): PlatformView[] {
  return platformViews(load(yaml, env).loaded.config)
}

const tokens = `platforms:
  - name: cloud
    url: https://git.example.com
    profile: gitlab
    token: all
    budget: 100
    webhook: {token: hook}
    tokens:
      - {groups: [org/team, org/two], token: team, budget: 50}
      - {groups: [org/team/sub], token: sub}
`

describe('the configuration views of platforms', () => {
  it('returns one view with the whole configuration if no platforms are listed', () => {
    const { config } = load('platform: {url: https://git.example.com}').loaded
    expect(platformViews(config)).toEqual([{ platform: 'default', name: 'default', groups: [], config }])
  })

  it('returns one view per token, and one for the `platform` setting if it has a URL', () => {
    const named = (env: Record<string, string>) =>
      viewsOf(tokens, env).map(({ name, groups, config: { platform, webhook } }) => [
        ...[name, groups.join(), platform.token.current()?.reveal(), platform.budget, platform.profile],
        webhook.token
          .current()
          ?.map(secret => secret.reveal())
          .join(),
      ])
    const listed = [
      ['cloud', '', 'all', 100, 'gitlab', 'hook'],
      ['cloud/org/team', 'org/team,org/two', 'team', 50, 'gitlab', 'hook'],
      ['cloud/org/team/sub', 'org/team/sub', 'sub', 300, 'gitlab', 'hook'],
    ]
    expect(named({})).toEqual(listed)
    const single = { PIPESPAN_PLATFORM_URL: 'https://git.example.org', PIPESPAN_PLATFORM_TOKEN: 'own' }
    expect(named(single)).toEqual([['default', '', 'own', 300, 'generic', undefined], ...listed])
  })

  it('divides polling and requests among the tokens by the longest matching group', () => {
    const views = viewsOf(`${tokens}    poll: {projects: [org/two/app, '4711'], groups: [org, org/team/sub/x]}
`)
    const parts = views.map(({ config }) => ({
      ...{ projects: config.poll.projects, groups: config.poll.groups, all: config.poll.crossProject },
      own: ['org/two/app', 'org', 'org/team/sub'].filter(path => isOfView(config, 'cloud', path)),
    }))
    expect(parts).toEqual([
      { projects: ['4711'], groups: ['org'], all: false, own: ['org'] },
      { projects: ['org/two/app'], groups: ['org/team', 'org/two'], all: false, own: ['org/two/app'] },
      { projects: [], groups: ['org/team/sub/x', 'org/team/sub'], all: false, own: ['org/team/sub'] },
    ])
    expect(views.some(({ config }) => isOfView(config))).toBe(false)
  })

  it('polls everything that each token may read if no projects or groups are listed', () => {
    expect(viewsOf(tokens).map(({ config }) => config.poll.crossProject)).toEqual([true, true, true])
  })
})

describe('a reload', () => {
  it('applies changed platform secrets, alone or together with other changes in the list of platforms', () => {
    const { loaded, reload } = load(tokens)
    const team = () => platformViews(loaded.config)[1]?.config.platform.token.current()?.reveal()
    expect(reload(tokens.replace('token: team', 'token: renewed'))).toMatchObject({ ok: true, changed: [] })
    expect(team()).toBe('renewed')
    const other = tokens.replace('name: cloud', 'name: sky').replace('token: team', 'token: third')
    const found = reload(other)
    if (!found.ok) throw new Error('It has faults.')
    const [, next] = platformViews(found.loaded.config)
    expect([next?.platform, next?.config.platform.token.current()?.reveal()]).toEqual(['sky', 'third'])
    expect(team()).toBe('renewed')
  })
})
