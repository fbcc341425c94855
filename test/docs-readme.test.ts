// The README, which a newcomer reads: it is short, and what it says to type works.
import { readFileSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { docBlocks, repository } from './doc-blocks.ts'
import { docFolder } from './doc-shell.ts'

const readme = readFileSync(path.join(repository, 'README.md'), 'utf8')
const blocks = docBlocks().filter(({ page }) => page === 'README.md')

describe('the README', () => {
  it('is read in three minutes', () => {
    expect(Buffer.byteLength(readme)).toBeLessThan(5_000)
  })

  it('begins with what it is, one picture, the commands to see it, and what one gets', () => {
    const [screen = ''] = readme.split('\n## Three ways to connect\n')
    expect(screen.match(/!\[[^\]]+\]\(docs\/images\/[^)]+\)/g)).toHaveLength(1)
    expect(screen.indexOf('npm ci && npm run demo')).toBeGreaterThan(screen.indexOf('!['))
    expect(screen.indexOf('## What you get')).toBeGreaterThan(screen.indexOf('npm run demo'))
  })

  it('says how its tests are run', () => {
    expect(readme).toContain('`npm ci && npm test`')
  })

  const daemons = blocks.filter(({ script }) => script.includes('pipespan serve'))

  it('connects in three ways: by looking, by polling, by webhooks', () => {
    expect(blocks.some(({ script }) => script.startsWith('npx pipespan try '))).toBe(true)
    expect(daemons.map(({ script }) => /PIPESPAN_(\w+?)=/.exec(script)?.[1])).toEqual(['PLATFORM_URL', 'WEBHOOK_TOKEN'])
  })

  it.each(daemons)('has settings on line $line that the daemon takes', ({ script }) => {
    using folder = docFolder()
    writeFileSync(path.join(folder.path, 'platform-token'), 'a-token-of-a-platform')
    const checked = script.replace('pipespan serve', 'pipespan config check')
    const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', checked], {
      cwd: folder.path,
      env: folder.env,
      encoding: 'utf8',
    })
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('The configuration is valid.')
  })
})
