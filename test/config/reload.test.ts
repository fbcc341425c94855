import { expect, it } from 'vitest'
import { writeFileSync } from 'node:fs'
import { fileWith } from './given.ts'
import { loadConfig, type LoadedConfig, type LoadOptions } from '../../src/config/load.ts'
import { profiles, type ProfileName } from '../../src/app/profile.ts'
import { reloadConfig } from '../../src/config/reload.ts'

function running(yaml: string): {
  loaded: LoadedConfig<ProfileName>
  options: LoadOptions<ProfileName>
  write: (yaml: string) => void
} {
  const file = fileWith(yaml)
  const options = { env: {}, file, profiles }
  const loaded = loadConfig(options)
  if (!loaded.ok) throw new Error('The configuration of this test has faults.')
  return { loaded, options, write: text => writeFileSync(file, text) }
}

it('without changes changes nothing', () => {
  const { loaded, options } = running('webhook: { token: abc }\nstore: { url: "postgres://u:p@db/x" }')
  expect(reloadConfig(loaded, options)).toEqual({ ok: true, loaded, changed: [], restart: new Map() })
})

it('takes over secrets alone without anything else, from the file or from files that it names', () => {
  const { loaded, options, write } = running(
    'webhook: { token: abc }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: one } }]',
  )
  const { token } = loaded.config.webhook
  write('webhook: { token: [def, ghi] }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: two } }]')
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, loaded, changed: [] })
  expect(token.current()?.map(one => one.reveal())).toEqual(['def', 'ghi'])
  expect(loaded.config.destinations[0]?.headers.current()?.get('x')?.reveal()).toBe('two')
  write(
    `webhook: { token_file: ${fileWith('from-file', 'token')} }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: two } }]`,
  )
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, changed: [] })
  expect(token.current()?.map(one => one.reveal())).toEqual(['from-file'])
})

it('has the new settings, and keeps those that need a restart, which it names without secrets', () => {
  const { loaded, options, write } = running(
    'webhook: { token: abc }\nsettle: 5s\nstore: { url: "postgres://u:one@db/x", max_size: 1GiB }\n',
  )
  write(
    'webhook: { token: def }\nsettle: 10s\nstore: { url: "postgres://u:two@db/x", max_size: 2GiB }\nrefs: { include: [main] }\n',
  )
  const found = reloadConfig(loaded, options)
  if (!found.ok) throw new Error('It has faults.')
  const { file } = options
  expect(found.changed).toEqual(['webhook.token', 'settle', 'refs.include'])
  expect([...found.restart.values()]).toEqual([
    `store.url: another value (${file}:3:15) needs a restart to apply; postgres://db/x stays in use until then.`,
    `store.max_size: 2GiB (${file}:3:50) needs a restart to apply; 1GiB stays in use until then.`,
  ])
  const { config } = found.loaded
  expect([config.settle, config.refs.include, config.store]).toEqual([10_000, ['main'], loaded.config.store])
  expect(config.webhook.token.current()?.[0]?.reveal()).toBe('def')
  expect(loaded.config.settle).toBe(5000)
  // What needs a restart is named again by the next reload, as it still differs.
  const again = reloadConfig(found.loaded, options)
  expect(again).toMatchObject({ ok: true, loaded: found.loaded, changed: [] })
  expect(again.ok && [...again.restart.keys()]).toEqual(['store.url', 'store.max_size'])
})

it('applies nothing of another profile', () => {
  const { loaded, options, write } = running('platform: { profile: generic }')
  write('platform: { profile: gitlab }\nsettle: 10s')
  const found = reloadConfig(loaded, options)
  expect(found).toMatchObject({ ok: true, loaded, changed: [] })
  expect(found.ok && [...found.restart.keys()]).toEqual(['platform.profile'])
})

it('with faults changes nothing', () => {
  const { loaded, options, write } = running('webhook: { token: abc }')
  write('webhook: { token: def }\nsettle: soon')
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: false, faults: [{ setting: 'settle' }] })
  expect(loaded.config.webhook.token.current()?.[0]?.reveal()).toBe('abc')
})

it('gives each destination its own token, also where they changed places', () => {
  const one = '{ name: one, endpoint: http://one, token: '
  const two = '{ name: two, endpoint: http://two, token: '
  const { loaded, options, write } = running(`destinations: [${one}a}, ${two}b}]`)
  write(`destinations: [${two}e}, ${one}f}]`)
  const found = reloadConfig(loaded, options)
  const tokens = found.ok
    ? found.loaded.config.destinations.map(({ name, token }) => [name, token.current()?.reveal()])
    : []
  expect(tokens).toEqual([
    ['two', 'e'],
    ['one', 'f'],
  ])
})
