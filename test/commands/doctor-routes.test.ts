// Tests how `pipespan doctor --project` reads the name of a project if there are several platforms.
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { runCommand } from '../e2e/run-command.ts'
import { temporaryFolder } from '../support/after-test.ts'

const yaml = `
platforms:
  - { name: cloud, url: 'https://git.example.com', webhook: { token: one-secret } }
  - { name: internal, url: 'https://git.internal.example.com', webhook: { token: another-secret } }
destinations:
  - { name: one, endpoint: 'http://127.0.0.1:9', projects: { include: ['cloud:team/**'] } }
  - { name: two, endpoint: 'http://127.0.0.1:9', projects: { include: ['internal:**'] } }
`

async function routesOf(project: string): Promise<string[]> {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, yaml)
  const { stdout } = await runCommand(['doctor', '--project', project, '--config', file])
  return stdout.split('\n').flatMap(line => (/^[✓!✗] routes: (.*)/.exec(line) ?? []).slice(1))
}

it('shows the destinations of a project on each platform if its platform is not named', async () => {
  expect(await routesOf('team/shop')).toEqual([
    'cloud:team/shop is exported to "one": traces, metrics, logs.',
    'internal:team/shop is exported to "two": traces, metrics, logs.',
  ])
})

it('shows the destinations of a project only for the platform that is named', async () => {
  expect(await routesOf('internal:team/shop')).toEqual([
    'internal:team/shop is exported to "two": traces, metrics, logs.',
  ])
  expect(await routesOf('typo:team/shop')).toEqual([
    'The platform of typo:team/shop is not configured. Name one of these: cloud, internal.',
  ])
})
