// Tests how the platform instance of a delivery is determined from its header, its payload and the configured URL.
import { describe, expect, it } from 'vitest'
import { profiles } from '../../../src/daemon/profile.ts'
import { jsonOf, observe, plain, reasonOf } from './parse-body.ts'

describe('the platform instance of a delivery', () => {
  const body = jsonOf('pipeline-failed')
  const platformUrl = 'https://configured.example.com/'

  it("takes the instance from the header if it matches the project, otherwise from the configured URL, or else from the project's origin", () => {
    const header = { instance: 'HTTPS://Git.Example.com:443/' }
    expect(observe(body, header, { ...plain, platformUrl }).key.instance).toBe('https://git.example.com')
    expect(observe(body, {}, { ...plain, platformUrl }).key.instance).toBe('https://configured.example.com')
    expect(observe(body).key.instance).toBe('https://git.example.com')
  })

  it('ignores an invalid instance header', () => {
    expect(observe(body, { instance: 'not a URL' }).key.instance).toBe('https://git.example.com')
    expect(observe(body, { instance: 'ftp://x' }, { ...plain, platformUrl }).key.instance).toBe(
      'https://configured.example.com',
    )
  })

  it("keeps the instance's relative URL root, which is not part of the project's path", () => {
    const job = jsonOf('job-failed') as object
    const moved = { ...job, repository: { homepage: 'https://example.com/git/acme/shop/checkout' } }
    const { key, project } = observe(moved, { instance: 'https://example.com/git/' })
    expect(key.instance).toBe('https://example.com/git')
    expect(project.path).toBe('acme/shop/checkout')
  })

  it.each([
    'https://evil.example',
    'https://git.example.com:8443',
    'http://git.example.com',
    'https://git.example.com/evil',
  ])('ignores an unsigned instance header that contradicts the project: %s', instance => {
    expect(observe(body, { instance }).key.instance).toBe('https://git.example.com')
    expect(observe(body, { instance }, { ...plain, platformUrl }).key.instance).toBe('https://configured.example.com')
  })

  it("ignores an instance header that contains part of the project's path", () => {
    const project = { id: 4, web_url: 'https://example.com/git/acme/shop/checkout' }
    const reported = { object_attributes: { id: 31, status: 'running' }, project, builds: [] }
    const header = { event: 'Pipeline Hook', instance: 'https://example.com/git/acme' }
    expect(observe(reported, header).key.instance).toBe('https://example.com/git/acme')
    const full = { ...reported, project: { ...project, path_with_namespace: 'acme/shop/checkout' } }
    expect(observe(full, header).key.instance).toBe('https://example.com')
    expect(observe(full, { ...header, instance: 'https://example.com/git' }).key.instance).toBe(
      'https://example.com/git',
    )
  })

  it('reads the instance from the header if the payload has no project URL and no platform URL is configured', () => {
    const reported = { object_attributes: { id: 31, status: 'running' }, project: { id: 2 }, builds: [] }
    const header = { event: 'Pipeline Hook', instance: 'https://git.example.com/' }
    expect(observe(reported, header).key.instance).toBe('https://git.example.com')
    expect(observe(reported, header, { ...plain, platformUrl }).key.instance).toBe('https://configured.example.com')
  })

  it('names the missing header and says what to configure if the instance is unknown', () => {
    const lost = { object_attributes: { id: 1, status: 'running' }, project: { id: 2 }, builds: [] }
    expect(reasonOf(lost)).toBe(
      'The delivery does not name its instance: it has no usable X-Service-Instance header and no web URL of its project. ' +
        'Set PIPESPAN_PLATFORM_URL.',
    )
    expect(reasonOf(lost, {}, { ...plain, profile: profiles.gitlab })).toContain('X-Gitlab-Instance')
    expect(reasonOf({ ...lost, project: { id: 2, web_url: 'javascript:alert(1)' } })).toContain('instance')
  })
})
