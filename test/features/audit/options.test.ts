// Tests which audit event sources may be configured, and which token reads which source.
import { expect, it } from 'vitest'
import { loadConfig } from '../../../src/daemon/configuration/load.ts'
import { perToken } from '../../../src/daemon/feature.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { audit } from '../../../src/features/audit/feature.ts'
import { temporaryFolder } from '../../support/after-test.ts'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { AuditOptions } from '../../../src/features/audit/options.ts'

function load(yaml: string) {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, yaml)
  return loadConfig({ env: {}, file, profiles, features: [audit] })
}

const platform = 'platform: {url: https://git.example.com, token: some-token}\n'

it.each([
  ['audit: [instance, team]', '`instance` already includes the audit events of all groups and projects.'],
  ["audit: [team, 'project:']", '`project:` names no project.'],
  ['audit: [project:team//shop]', '"team//shop" is neither an ID nor a full path.'],
])('rejects an invalid list of audit event sources: %s', (yaml, what) => {
  expect(load(platform + yaml)).toMatchObject({ ok: false, faults: [{ setting: 'audit', what }] })
})

it('rejects audit event sources without a token', () => {
  const what = 'Audit events need a token that can read them.'
  expect(load('audit: instance')).toMatchObject({ ok: false, faults: [{ setting: 'audit', what }] })
  expect(load(`${platform}audit: instance`).ok).toBe(true)
})

it('assigns each audit event source to the token with the longest matching group', () => {
  const loaded = load(`platforms:
  - name: cloud
    url: https://git.example.com
    token: all
    webhook: {token: hook}
    audit: [other, 'project:org/team/app', org/team/sub]
    tokens:
      - {groups: [org/team, org/two], token: team}
      - {groups: [org/team/sub], token: sub}
`)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults))
  expect(perToken(loaded, loaded.config as unknown as AuditOptions).map(options => options.audit)).toEqual([
    ['other'],
    ['project:org/team/app'],
    ['org/team/sub'],
  ])
})

it('rejects an audit event source whose platform is not configured', () => {
  const several = `platforms:
  - {name: cloud, url: https://git.example.com, token: all, webhook: {token: hook}}
audit: [team]
`
  const what =
    'This setting belongs to the platform `default`, which does not exist: platforms are listed, and platform.url is not set.'
  expect(load(several)).toMatchObject({ ok: false, faults: [{ setting: 'audit', what }] })
})
