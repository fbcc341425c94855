// Tests the configuration of job logs and reports.
import { describe, expect, it } from 'vitest'
import { faults } from '../../daemon/configuration/given.ts'

const given = {
  PIPESPAN_WEBHOOK_TOKEN: 'x',
  PIPESPAN_LISTEN: '127.0.0.1:8080',
  PIPESPAN_ADMIN_LISTEN: '127.0.0.1:8081',
}
const token = 'an-admin-token-of-32-characters-x'

describe('configuration of job logs and reports', () => {
  it.each([
    [
      'job logs without pages',
      'pages: { enabled: false, logs: true }',
      'Job logs are shown on the pages, which are off.',
    ],
    [
      'job logs that anybody could read',
      'pages: { logs: true }',
      'Job logs would be visible to anyone who can reach the pages',
    ],
    [
      'job logs without a platform token',
      `pages: { logs: true }\nadmin: { token: ${token} }`,
      'Job logs are fetched from the platform, but no platform token is set.',
    ],
    [
      'dotenv reports without allowed keys',
      'reports: [dotenv]',
      'Dotenv reports are enabled, but no key is allowed to be exported.',
    ],
  ])('rejects a configuration that enables %s', (_, yaml, what) => {
    expect(faults(given, yaml)).toEqual([expect.stringContaining(what)])
  })

  it('rejects projects whose platform is not configured, and names the platform', () => {
    const two = "platforms: [{ name: cloud, url: 'https://git.example.com', webhook: { token: one-secret } }]"
    expect(faults({}, `${two}\njob: { projects: ['cloud:org/**', 'clout:org/**'] }`)).toEqual([
      expect.stringContaining('“clout:org/**” is for the platform clout, which is not configured.'),
    ])
  })
})
