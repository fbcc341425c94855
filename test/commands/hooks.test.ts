// Tests `pipespan hooks ensure` as a command, with a simulated platform that stores webhooks.
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { platformToken, startHooksPlatform, type HooksPlatform } from './hooks-platform.ts'
import { openSqlite } from '../support/stores.ts'
import { runCommand } from '../e2e/run-command.ts'

const url = 'https://pipespan.example.com/webhooks'
const secret = 'webhook-secret-4f2a'
const signingToken = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const good = { url, pipeline_events: true, job_events: true, token: secret }

async function ensure(platform: HooksPlatform, args: readonly string[], env: Record<string, string> = {}) {
  const usual = {
    PIPESPAN_PLATFORM_URL: platform.url,
    PIPESPAN_PLATFORM_TOKEN: platformToken,
    PIPESPAN_WEBHOOK_TOKEN: secret,
    PIPESPAN_PUBLIC_URL: 'https://pipespan.example.com/',
    PIPESPAN_LOG_LEVEL: 'silent',
    PIPESPAN_STORE_URL: `sqlite:${path.join(tmpdir(), 'pipespan-no-such-folder', 'p.db')}`,
  }
  const { code, stdout: out, stderr: err } = await runCommand(['hooks', 'ensure', ...args], { ...usual, ...env })
  expect(out + err).not.toContain(secret)
  expect(out + err).not.toContain(signingToken)
  expect(out + err).not.toContain(platformToken)
  return { code, out, err }
}

describe('the command `pipespan hooks ensure`', () => {
  it('creates the hook with its events and secret, for a project given by path and for a group', async () => {
    await using platform = await startHooksPlatform({ 'projects/team%2Fshop': [], 'groups/7': [] })
    const { code, out } = await ensure(platform, ['--project', 'team/shop', '--group', '7'])
    expect(code).toBe(0)
    expect(out).toContain('created 2, repaired 0, fine 0, failed 0')
    for (const hooks of Object.values(platform.hooks)) {
      expect(hooks).toMatchObject([{ ...good, push_events: false }])
    }
  })

  it('enables the hook flags that the selected events need, including flags that only group hooks have, and lists the repaired hooks', async () => {
    const flags = { deployment_events: false, releases_events: true, member_events: false }
    const hooks = { 'projects/4': [{ ...good, ...flags }], 'groups/7': [{ ...good, ...flags }] }
    await using platform = await startHooksPlatform(hooks)
    const env = { PIPESPAN_EVENTS: 'deployment,release,member' }
    const { out } = await ensure(platform, ['--project', '4', '--group', '7'], env)
    expect(out).toMatch(/4: hook \d+ repaired \(deployment events\)/)
    expect(out).toMatch(/7: hook \d+ repaired \(deployment events, member events\)/)
    expect(platform.hooks['projects/4']).toMatchObject([{ deployment_events: true, member_events: false }])
    expect(platform.hooks['groups/7']).toMatchObject([{ deployment_events: true, member_events: true }])
    expect((await ensure(platform, ['--project', '4', '--group', '7'], env)).out).toContain('fine 2')
  })

  it('enables repository update events, and reports if the platform ignores or does not support them', async () => {
    const flags = { repository_update_events: false }
    await using platform = await startHooksPlatform({ 'projects/4': [{ ...good, ...flags }], 'projects/5': [] })
    const env = { PIPESPAN_EVENTS: 'repository_update' }
    const first = await ensure(platform, ['--project', '4'], env)
    expect(first.out).toMatch(/4: hook \d+ repaired \(repository update events\)/)
    expect(first.err).toBe('')
    expect(platform.hooks['projects/4']).toMatchObject([{ repository_update_events: true }])
    platform.interrupt = (request, response) => {
      if (request.method !== 'POST') return false
      response.writeHead(201, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...good, ...flags, id: 9 }))
      return true
    }
    const ignored = await ensure(platform, ['--project', '5'], env)
    expect(ignored.err).toContain('5: hook 9 does not send repository update events')
    platform.interrupt = undefined
    platform.hooks['projects/5'] = [{ ...good, id: 10, push_events: false, alert_status: 'executable' }]
    const unknown = await ensure(platform, ['--project', '5'], env)
    expect(unknown.out).toContain('fine 1')
    expect(unknown.err).toContain('5: hook 10 does not send repository update events')
  })

  it("does not change a correct hook or other programs' hooks", async () => {
    const foreign = { url: 'https://chat.example.com/', pipeline_events: false }
    await using platform = await startHooksPlatform({ 'projects/4': [foreign, good] })
    const { code, out } = await ensure(platform, ['--project', '4'])
    expect(code).toBe(0)
    expect(out).toContain('fine 1')
    expect(platform.changes).toEqual([])
  })

  it('recognises a hook whose URL has masked parts, and repairs it without printing or losing them', async () => {
    const masked = { url: 'https://pipespan.example.com/{path}', url_variables: [{ key: 'path' }] }
    const foreign = { url: 'https://chat.example.com/{path}', url_variables: [{ key: 'path' }] }
    const hook = { ...good, ...masked, job_events: false }
    await using platform = await startHooksPlatform({
      'projects/4': [foreign, hook],
      'projects/6': [{ ...good, ...masked }],
    })
    const { out } = await ensure(platform, ['--project', '4', '--project', '6'])
    expect(out).toContain('created 0, repaired 1, fine 1, failed 0')
    expect(platform.hooks['projects/4']).toMatchObject([foreign, { ...hook, job_events: true }])
    expect(platform.hooks['projects/4']).toHaveLength(2)
  })

  it('adds missing events to a hook without changing its secret or additional events', async () => {
    const hook = { ...good, job_events: false, token: 'another', push_events: true }
    await using platform = await startHooksPlatform({ 'projects/4': [hook] })
    const { out } = await ensure(platform, ['--project', '4'])
    expect(out).toContain('repaired (job events)')
    expect(platform.hooks['projects/4']).toMatchObject([{ ...hook, job_events: true }])
  })

  it("sets the hook's secret if the hook has none, if requested, and if a new URL deletes the secret", async () => {
    const old = 'https://old.example.com/webhooks'
    await using platform = await startHooksPlatform({
      'projects/2': [{ url, pipeline_events: true, job_events: true }],
      'projects/4': [{ ...good, token: 'stale' }],
      'projects/6': [{ ...good, url: old, token: 'stale' }],
    })
    await ensure(platform, ['--project', '2'])
    await ensure(platform, ['--project', '4', '--write-secret'])
    await ensure(platform, ['--project', '6', '--old-url', old])
    for (const hooks of Object.values(platform.hooks)) expect(hooks).toMatchObject([good])
  })

  it('sets both secrets of a hook if both are configured, and adds a missing one without changing the other', async () => {
    const old = 'https://old.example.com/webhooks'
    await using platform = await startHooksPlatform({
      'projects/1': [],
      'projects/2': [good],
      'projects/4': [{ ...good, token: 'another', signing_token: 'whsec_b3RoZXI=' }],
      'projects/6': [{ ...good, url: old, token: 'stale', signing_token: 'whsec_b2xk' }],
    })
    const env = { PIPESPAN_WEBHOOK_SIGNING_TOKEN: signingToken }
    const projects = ['1', '2', '4', '6'].flatMap(id => ['--project', id])
    const { out } = await ensure(platform, [...projects, '--old-url', old], env)
    expect(out).toContain('2: hook 100 repaired (no signing token)')
    expect(out).toContain('4: hook 101 is fine')
    const whole = { ...good, signing_token: signingToken }
    expect(platform.hooks).toMatchObject({
      'projects/1': [whole],
      'projects/2': [whole],
      'projects/4': [{ token: 'another', signing_token: 'whsec_b3RoZXI=' }],
      'projects/6': [whole],
    })
    const rewritten = await ensure(platform, ['--project', '4', '--write-secret'], env)
    expect(rewritten.out).toContain('4: hook 101 repaired (secret replaced)')
    expect(platform.hooks['projects/4']).toMatchObject([whole])
  })

  it("sets only a hook's signing token if no other secret is configured", async () => {
    await using platform = await startHooksPlatform({ 'projects/2': [], 'projects/4': [good] })
    const env = { PIPESPAN_WEBHOOK_TOKEN: '', PIPESPAN_WEBHOOK_SIGNING_TOKEN: signingToken }
    expect((await ensure(platform, ['--project', '2', '--project', '4'], env)).code).toBe(0)
    expect(platform.hooks['projects/2']).toMatchObject([{ url, signing_token: signingToken }])
    expect(platform.hooks['projects/2']?.[0]).not.toHaveProperty('token')
    expect(platform.hooks['projects/4']).toMatchObject([{ ...good, signing_token: signingToken }])
  })

  it('prints its changes without making them with --dry-run', async () => {
    await using platform = await startHooksPlatform({
      'projects/2': [],
      'projects/4': [{ ...good, job_events: false }],
    })
    const { code, out } = await ensure(platform, ['--project', '2', '--project', '4', '--dry-run'])
    expect(code).toBe(0)
    expect(out).toContain('2: a hook would be created (pipeline events, job events')
    expect(out).toContain('would be repaired (job events)')
    const json = await ensure(platform, ['--project', '2', '--project', '4', '--project', '9', '--dry-run', '--json'])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out)).toMatchObject({
      ...{ dryRun: true, created: 1, repaired: 1, fine: 0, failed: 1 },
      hooks: [
        { owner: '2', outcome: 'created', reasons: expect.arrayContaining(['pipeline events']) as string[] },
        { owner: '4', outcome: 'repaired', hook: 100, reasons: ['job events'] },
        { owner: '9', outcome: 'failed', reasons: [expect.stringContaining('404')] },
      ],
    })
    expect(platform.changes).toEqual([])
  })

  it('selects the projects that the user maintains for --all-projects, or every project for an administrator', async () => {
    await using platform = await startHooksPlatform({ 'projects/1': [], 'projects/2': [], 'projects/4': [] })
    expect((await ensure(platform, ['--all-projects'])).out).toContain('created 2')
    platform.isAdministrator = true
    expect((await ensure(platform, ['--all-projects'])).out).toContain('created 1, repaired 0, fine 2')
  })

  it('continues after a project whose hooks the token cannot change, and exits with 1', async () => {
    await using platform = await startHooksPlatform({ 'projects/2': [], 'projects/4': [] })
    platform.forbidden.add('projects/2')
    const { code, out, err } = await ensure(platform, ['--project', '2', '--project', '4'])
    expect(code).toBe(1)
    expect(out).toContain('created 1, repaired 0, fine 0, failed 1')
    expect(err).toContain('2: ')
  })

  it('does not retry creating a hook if the outcome is unknown: the next run finds the hook', async () => {
    await using platform = await startHooksPlatform({ 'projects/2': [] })
    let posts = 0
    platform.interrupt = ({ method }, response) => {
      if (method !== 'POST') return false
      posts++
      // The platform created the hook, but its response was lost.
      platform.hooks['projects/2']?.push({ ...good, id: 1, push_events: false, alert_status: 'executable' })
      response.destroy()
      return true
    }
    expect((await ensure(platform, ['--project', '2'])).code).toBe(1)
    expect(posts).toBe(1)
    platform.interrupt = undefined
    expect((await ensure(platform, ['--project', '2'])).out).toContain('fine 1')
  })

  it('does not print a secret that the platform echoes in its error message', async () => {
    await using platform = await startHooksPlatform({ 'projects/2': [] })
    platform.interrupt = ({ method }, response) => {
      if (method !== 'POST') return false
      response.writeHead(422, { 'content-type': 'application/json' }).end(`{"message":"token ${secret} is too short"}`)
      return true
    }
    const { code, err } = await ensure(platform, ['--project', '2'])
    expect(code).toBe(1)
    expect(err).toContain('is too short')
  })

  it('reports disabled and duplicate hooks', async () => {
    const off = { ...good, id: 31, alert_status: 'temporarily_disabled' }
    await using platform = await startHooksPlatform({ 'projects/2': [off, { ...good, id: 32 }] })
    const { err } = await ensure(platform, ['--project', '2'])
    expect(err).toContain('hook 31 is temporarily disabled')
    expect(err).toContain('remove 32')
  })

  it('names missing settings before it sends any request', async () => {
    await using platform = await startHooksPlatform({})
    expect(await ensure(platform, [])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--all-projects') as string,
    })
    const noUrl = await ensure(platform, ['--project', '2'], { PIPESPAN_PUBLIC_URL: '' })
    expect(noUrl).toMatchObject({ code: 2, err: expect.stringContaining('--url') as string })
    const noToken = await ensure(platform, ['--project', '2'], { PIPESPAN_PLATFORM_TOKEN: '' })
    expect(noToken).toMatchObject({ code: 2, err: expect.stringContaining('PIPESPAN_PLATFORM_TOKEN') as string })
    expect((await ensure(platform, ['--project', '2', '--url', 'ftp://x'])).code).toBe(2)
  })

  it("shares the daemon's API budget if there is a store", async () => {
    const folder = temporaryFolder()
    const open = () => openSqlite(path.join(folder, 'p.db'), { now: () => Date.now(), maxSize: 2 ** 30 })
    await open().close()
    await using platform = await startHooksPlatform({ 'projects/4': [good] })
    const { code } = await ensure(platform, ['--project', '4'], {
      PIPESPAN_STORE_URL: `sqlite:${path.join(folder, 'p.db')}`,
      PIPESPAN_PLATFORM_BUDGET: '60',
    })
    expect(code).toBe(0)
    const store = open()
    const [shared] = await store.repositories.budgets.all()
    await store.close()
    expect(shared?.tokens).toBeLessThan(60)
  })
})
