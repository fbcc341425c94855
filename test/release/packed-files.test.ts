// What the packed file holds, by npm's own list: what its documents send the reader to is in it.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { repository } from './install.ts'

function packedFiles(): string[] {
  // Without scripts: `prepack` shortens the manifest for a moment, which other tests read.
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: repository,
    encoding: 'utf8',
  })
  const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[]
  return packed?.files.map(file => file.path) ?? []
}

describe('the packed file', () => {
  const files = packedFiles()

  it('holds the systemd unit and the manifests that its documents name', () => {
    for (const file of [
      'deploy/systemd/pipespan.service',
      'deploy/compose/compose.yaml',
      'deploy/kubernetes/overlays/single/kustomization.yaml',
      'deploy/prometheus/alerts.yml',
    ])
      expect(files).toContain(file)
  })

  it('holds no part of the chart, whose links npm leaves out: a release has it as a file of its own', () => {
    expect(files.filter(file => file.startsWith('deploy/helm/'))).toEqual(['deploy/helm/pipespan/README.md'])
  })

  it('has no link in its documents that leads out of it', () => {
    const known = new Set(files.flatMap(file => [file, ...foldersOf(file)]))
    const pages = files.filter(file => file.endsWith('.md'))
    expect(pages.length).toBeGreaterThan(20)
    const dangling = pages.flatMap(page =>
      [...readFileSync(path.join(repository, page), 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter(target => !/^\w+:/.test(target))
        .map(target => path.normalize(path.join(path.dirname(page), target)).replace(/\/$/, ''))
        .filter(target => !known.has(target))
        .map(target => `${page}: ${target}`),
    )
    expect(dangling).toEqual([])
  })
})

function foldersOf(file: string): string[] {
  const parent = path.dirname(file)
  return parent === '.' ? [] : [parent, ...foldersOf(parent)]
}
