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

it('a reload without changes logs nothing', () => {
  const { loaded, options } = running('webhook: { token: abc }\nstore: { url: "postgres://u:p@db/x" }')
  expect(reloadConfig(loaded, options)).toEqual({ ok: true, restart: [], warnings: [] })
})

it('a reload applies secrets at once, from the file or from files that it names', () => {
  const { loaded, options, write } = running('webhook: { token: abc }')
  const { token } = loaded.config.webhook
  write('webhook: { token: [def, ghi] }')
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, restart: [] })
  expect(token.current()?.map(one => one.reveal())).toEqual(['def', 'ghi'])
  write(`webhook: { token_file: ${fileWith('from-file', 'token')} }`)
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, restart: [] })
  expect(token.current()?.map(one => one.reveal())).toEqual(['from-file'])
})

it('a reload names the settings that need a restart, without secrets', () => {
  const { loaded, options, write } = running('webhook: { token: abc }\nsettle: 5s\nhttps_proxy: http://u:one@proxy:1\n')
  write('webhook: { token: abc }\nsettle: 10s\nhttps_proxy: http://u:two@proxy:1\nrefs: { include: [main] }\n')
  const { file } = options
  expect(reloadConfig(loaded, options)).toEqual({
    ok: true,
    restart: [
      `settle: 10s (${file}:2:9) needs a restart; 5s stays in use until then.`,
      `refs.include: main (${file}:4:18) needs a restart; none: all stays in use until then.`,
      `https_proxy: another value (${file}:3:14) needs a restart; http://[secret]@proxy:1 stays in use until then.`,
    ],
    warnings: [],
  })
  expect(loaded.config.settle).toBe(5000)
})

it('a reload with faults changes nothing', () => {
  const { loaded, options, write } = running('webhook: { token: abc }')
  write('webhook: { token: def }\nsettle: soon')
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: false, faults: [{ setting: 'settle' }] })
  expect(loaded.config.webhook.token.current()?.[0]?.reveal()).toBe('abc')
})

it('a reload applies the tokens of unchanged destinations only', () => {
  const one = '{ name: one, endpoint: http://one, token: '
  const two = '{ name: two, endpoint: http://two, token: '
  const { loaded, options, write } = running(`destinations: [${one}a}, ${two}b}]`)
  const tokens = (): unknown => loaded.config.destinations.map(({ token }) => token.current()?.reveal())
  write(`destinations: [${one}c}, ${two}d}]`)
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, restart: [] })
  expect(tokens()).toEqual(['c', 'd'])
  write(`destinations: [${two}e}, ${one}f}]`)
  expect(reloadConfig(loaded, options)).toMatchObject({
    restart: ['destinations: Changed; the running ones stay in use until a restart.'],
  })
  expect(tokens()).toEqual(['c', 'd'])
})
